// Draws the placement map, shows the effect of a server's failure, filters the rules. Values are never set as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const SIGNS = { pass: "✓", fail: "✗", notEvaluated: "?", waived: "⊘" };

  const make = (tag, classes, text) => {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const several = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;

  // The rules

  const buttons = [...document.querySelectorAll(".filter button")];
  const rules = [...document.querySelectorAll("details.rule")];
  const framework = document.getElementById("framework");
  const controls = [...document.querySelectorAll("tr[data-framework]")];
  const filter = () => {
    const wanted = buttons.find((each) => each.getAttribute("aria-pressed") === "true").dataset.filter;
    const of = framework.value;
    for (const rule of rules) {
      const judges = of === "" || rule.dataset.frameworks.split(" ").includes(of);
      rule.hidden = (wanted !== "" && rule.dataset.verdict !== wanted) || !judges;
    }
    for (const row of controls) row.hidden = of !== "" && row.dataset.framework !== of;
    document.getElementById("nothing").hidden = rules.some((rule) => !rule.hidden);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      filter();
    });
  }
  framework.addEventListener("change", filter);
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      framework.value = "";
      buttons[0].click();
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  const opened = new Set();
  addEventListener("beforeprint", () => {
    for (const rule of rules) {
      if (!rule.open) opened.add(rule);
      rule.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const rule of opened) rule.open = false;
    opened.clear();
  });

  if (!data) return;

  // The map

  const racks = document.getElementById("racks");
  const panel = document.getElementById("loss");
  let chosen = null;

  const letter = (placed, node) => {
    const [sign, name] = data.quorums[placed.quorum];
    const button = make("button", `mark q-${placed.quorum}`);
    button.type = "button";
    button.append(make("b", "", sign));
    button.setAttribute("aria-label", `${placed.name}, member of ${name}, on ${node}`);
    button.setAttribute("aria-pressed", "false");
    return button;
  };

  const tag = (placed) => {
    const element = make("span", `tag${placed.certain ? "" : " free"}`, placed.service);
    element.tabIndex = -1; // reached by arrow keys, to keep the number of Tab stops small
    return element;
  };

  const instances = (numbers, node) => {
    const list = make("ul", "instances");
    const members = numbers.filter((number) => data.placed[number].quorum);
    const others = numbers.filter((number) => !data.placed[number].quorum);
    for (const number of [...members, ...others]) {
      const placed = data.placed[number];
      const item = make("li");
      const chip = placed.quorum ? letter(placed, node) : tag(placed);
      chip.dataset.placed = number;
      if (placed.rules.some(([, verdict]) => verdict === "fail" || verdict === "notEvaluated")) {
        chip.classList.add("broken");
      }
      item.append(chip);
      if (placed.quorum) item.append(make("span", "member", placed.service));
      list.append(item);
    }
    return list;
  };

  const nodeBox = (number, server) => {
    const [name, pool, placed] = data.nodes[number];
    const box = make("div", "node");
    const head = make("div", "node-head");
    if (name !== server) head.append(make("span", "node-name", name));
    head.append(make("span", "pool", pool || "no pool"));
    box.append(head);
    if (placed.length) box.append(instances(placed, name));
    return box;
  };

  const serverBox = ([name, nodes], loss) => {
    const box = make("div", "server");
    const button = make("button", "server-name", name);
    button.type = "button";
    button.dataset.loss = loss;
    button.dataset.server = name;
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-controls", "loss");
    box.append(button);
    for (const number of nodes) box.append(nodeBox(number, name));
    return box;
  };

  const groupBox = (group) => {
    const { servers, loss } = group;
    if (servers.length === 1) return serverBox(servers[0], loss);
    const box = make("details", "group");
    const head = make("summary");
    const nodes = servers[0][1];
    const pools = nodes.map((number) => data.nodes[number][1] || "no pool").join(" + ");
    head.append(make("b", "", several(servers.length, "server")), make("span", "pool", pools));
    head.append(make("span", "range", `${servers[0][0]} … ${servers[servers.length - 1][0]}, all alike`));
    box.append(head);
    // The instances are listed once for the group. Its servers are created when the group is opened.
    const alike = [...new Set(nodes.flatMap((number) => data.nodes[number][2]))];
    if (alike.length) head.append(instances(alike, "each"));
    box.addEventListener("toggle", () => {
      if (!box.open || box.querySelector(".server-name")) return;
      const list = make("div", "names");
      for (const server of servers) list.append(serverBox([server[0], []], loss));
      box.append(list);
    });
    return box;
  };

  for (const rack of data.racks) {
    const column = make("section", "rack");
    column.append(make("h3", "", rack.name ? `Rack ${rack.name}` : "No rack named"));
    for (const group of rack.groups) column.append(groupBox(group));
    racks.append(column);
  }

  // Loss of a server

  const line = (placed, left, count, stands) => {
    const item = make("li", stands ? "stands" : "falls");
    item.append(make("span", "sign", stands ? "✓" : "✗"), make("span", "", placed.group || placed.service));
    item.append(make("span", "", `${left} of ${count} left`));
    return item;
  };
  const sorted = (list) => [...list].sort((one, other) => (one.textContent < other.textContent ? -1 : 1));

  const effect = (server, number) => {
    const losses = number < 0 ? null : data.losses[number];
    const parts = [make("h3", "", `If ${server} fails`)];
    if (losses === null) {
      parts.push(make("p", "", "No label names the physical server of this node, so the effect is unknown."));
      return parts;
    }
    const titles = {
      broken: "Quorums that lose their majority",
      kept: "Quorums that keep their majority",
      down: "Services with no instance left",
      elsewhere: "Services below their count, until started elsewhere",
      waiting: "Services below their count, until the server is back",
    };
    const found = { broken: [], kept: [], down: [], elsewhere: [], waiting: [] };
    for (const [index, lost, left, needs, elsewhere] of losses) {
      const placed = data.placed[index];
      const stands = left >= needs;
      const kind = placed.quorum ? (stands ? "kept" : "broken") : stands ? (elsewhere ? "elsewhere" : "waiting") : "down";
      found[kind].push(line(placed, left, lost + left, stands));
    }
    for (const [kind, lines] of Object.entries(found)) {
      if (!lines.length) continue;
      const list = make("ul");
      list.append(...sorted(lines));
      parts.push(make("h4", "", titles[kind]), list);
    }
    if (!losses.length) {
      parts.push(make("p", "", "No quorum loses a member and no service loses an instance, apart from the server's own agents."));
    }
    parts.push(make("p", "note", "Worst case: as many instances as the scheduling rules allow on the server."));
    return parts;
  };

  const choose = (button) => {
    if (chosen) {
      chosen.setAttribute("aria-pressed", "false");
      chosen.closest(".server").classList.remove("lost");
    }
    chosen = button === chosen ? null : button;
    if (!chosen) {
      panel.replaceChildren(make("p", "hint", "No server selected."));
      panel.classList.remove("shown");
      return;
    }
    chosen.setAttribute("aria-pressed", "true");
    chosen.closest(".server").classList.add("lost");
    panel.replaceChildren(...effect(chosen.dataset.server, Number(chosen.dataset.loss)));
    panel.classList.add("shown");
  };

  // Members of one quorum

  let followed = null;
  const quorumOf = (number) => data.placed[Number(number)].group || number;
  const follow = (number) => {
    followed = quorumOf(number) === followed ? null : quorumOf(number);
    racks.classList.toggle("following", followed !== null);
    for (const mark of racks.querySelectorAll(".mark")) {
      const fellow = quorumOf(mark.dataset.placed) === followed;
      mark.setAttribute("aria-pressed", String(fellow));
      mark.classList.toggle("fellow", fellow);
    }
  };

  racks.addEventListener("click", (event) => {
    const server = event.target.closest(".server-name");
    const mark = event.target.closest("button.mark");
    if (server) choose(server);
    if (mark) {
      event.preventDefault();
      follow(mark.dataset.placed);
    }
  });
  racks.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const box = event.target.closest(".server, .group");
    if (!step || !box) return;
    const stops = [...box.querySelectorAll("summary, .server-name, [data-placed]")];
    stops[stops.indexOf(event.target) + step]?.focus();
    event.preventDefault();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hide();
    if (chosen) choose(chosen);
    if (followed !== null) follow(racks.querySelector(".fellow").dataset.placed);
  });

  // Rules that evaluated an instance

  const show = (chip) => {
    const placed = data.placed[Number(chip.dataset.placed)];
    const place = placed.certain ? "its place is certain" : `one of ${several(placed.choice, "possible node")}`;
    tip.replaceChildren(make("strong", "", placed.name));
    tip.append(make("span", "", `${placed.count} ${placed.quorum ? "members" : "instances"}; ${place}`));
    const list = make("ul");
    for (const [rule, verdict] of placed.rules) {
      list.append(make("li", `v-${verdict}`, `${SIGNS[verdict]} ${data.rules[rule]}`));
    }
    tip.append(list);
    tip.hidden = false;
    chip.setAttribute("aria-describedby", "tip");
    const at = chip.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8));
    const below = at.bottom + tip.offsetHeight + 12 < innerHeight;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(below ? at.bottom + 6 : at.top - tip.offsetHeight - 6) + scrollY}px`;
  };
  const hide = () => {
    tip.hidden = true;
    document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
  };
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    racks.addEventListener(on, (event) => {
      const chip = event.target.closest("[data-placed]");
      if (chip) {
        hide();
        show(chip);
      }
    });
    racks.addEventListener(off, hide);
  }
})();
