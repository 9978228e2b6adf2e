"""Container images: version tags, digests and registries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from formats.image_reference import parse
from policy.facts.components import CloudFacts
from policy.facts.pods import POD_TYPES, Pods, pods
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule
from policy.wording import join_names

PUBLIC = ("quay.io/openstack.kolla/",)
FLOATING = ("latest", "master", "main", "edge", "nightly", "stable", "devel")


def is_pinned(image: str) -> bool:
    """Whether the image reference contains a digest."""
    return parse(image).is_pinned


@rule(
    id="no-floating-tag",
    title="Images carry a version tag or a digest",
    severity=Severity.HIGH,
    rationale="An image reference without a tag, or with `latest`, means the image that was pushed last. Members of "
    "one quorum that start on different days then run different versions.",
    sources=(
        RuleSource("project", "Images", 1),
        RuleSource("004", "5.5.10", 14),
    ),
    remediation="Use the version as the image's tag, preferably with its digest.",
    subjects=pods,
    not_applicable_reason="the stack has no pods",
    parameters={"floating": ", ".join(FLOATING)},
    since="0.2.0",
    single=POD_TYPES,
)
def no_floating_tag(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reports images without a digest whose tag is missing or not a version."""
    floating = {image for image in each.images if not is_pinned(image) and parse(image).tag in ("", *FLOATING)}
    if floating:
        yield RuleProblem(f"{join_names(floating)} can be any version", "a version tag or a digest")


def _rendered(facts: Facts) -> bool:
    """Whether the stack only renders its objects as files. A stack without a Cloud component counts as live."""
    return any(not cloud.is_live for cloud in facts.clouds)


def _evaluated(facts: Facts, each: Pods) -> bool:
    """Whether the rule evaluates the pods: in production, and in a rendered stack only if all images are pinned."""
    if facts.profile != PRODUCTION:
        return False
    return not _rendered(facts) or all(is_pinned(image) for image in each.images)


@rule(
    id="images-pinned",
    title="Production images are pinned by digest",
    severity=Severity.HIGH,
    rationale="A registry can serve a different image under the same tag. A digest identifies exactly one image.",
    sources=(
        RuleSource("project", "Images", 1),
        RuleSource("004", "5.5.10", 14),
    ),
    remediation="Write the digests under quorate:images.digests, by the image's name (`skopeo inspect --format "
    "'{{.Digest}}' docker://<image>` prints it), or a whole reference under quorate:services.<name>.image.",
    subjects=pods,
    applies=_evaluated,
    not_applicable_reason="the stack is a lab, has no pods, or is only rendered and pins no image "
    "(public-images-flagged covers such a stack)",
    since="0.2.0",
)
def images_pinned(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reports every image of the pods that has no digest."""
    loose = {image for image in each.images if not is_pinned(image)}
    if loose:
        yield RuleProblem(f"{join_names(loose)} not pinned", "a digest (@sha256:…)")


def _pinned_in_part(facts: Facts, _cloud: CloudFacts) -> bool:
    return facts.profile == PRODUCTION and _rendered(facts) and any(map(is_pinned, _images(facts)))


@lru_cache(maxsize=2)
def _images(facts: Facts) -> frozenset[str]:
    """Returns the images of the cloud's own workloads, which quorate:images is for.

    A digest on a hand-written workload, which has neither a row nor one that it accompanies, says nothing of them.
    """
    own = (each for each in pods(facts) if each.workload and (each.workload.row or each.workload.companion_of))
    return frozenset(image for each in own for image in each.images)


@rule(
    id="rendered-images-pinned",
    title="A rendered stack that pins images pins all of them",
    severity=Severity.LOW,
    rationale="If only some images are pinned, members of one service can run different builds. The rule is advisory, "
    "because a rendered stack pulls no images: its images can be pinned one after another.",
    sources=(RuleSource("project", "Images", 3),),
    remediation="Write the missing digests under quorate:images.digests, by the image's name.",
    subjects=lambda facts: facts.clouds,
    applies=_pinned_in_part,
    not_applicable_reason="the stack is a lab, is not rendered, or pins no image",
    # Advisory: images are pinned one after another, and images-pinned is mandatory before anything is pulled.
    enforcement=ADVISORY,
    since="0.4.0",
)
def rendered_images_pinned(facts: Facts, _cloud: CloudFacts) -> Iterator[RuleProblem]:
    """Reports all images of the architecture's workloads without a digest in one finding."""
    loose = {image for image in _images(facts) if not is_pinned(image)}
    if loose:
        yield RuleProblem(f"{join_names(loose, 2)} not pinned, other images are", "a digest (@sha256:…) for each image")


def _using(facts: Facts) -> Iterator[CloudFacts | Pods]:
    """Yields the Cloud component, whose image settings are for all pods; in a stack without a Cloud, the pods."""
    yield from facts.clouds or pods(facts)


@rule(
    id="public-images-flagged",
    title="Images from Kolla's public registry namespace are pinned by digest",
    severity=Severity.MEDIUM,
    rationale="Kolla publishes images in quay.io/openstack.kolla for testing: tags move with every job, old images are "
    "deleted, and the registry limits the rate of pulls. A cloud of a thousand nodes must not depend on that.",
    sources=(RuleSource("project", "Images", 2),),
    remediation="Mirror the images, set the mirror (quorate:images.registry and namespace), and pin the images "
    "(quorate:images.digests).",
    subjects=_using,
    applies=lambda facts, _user: facts.profile == PRODUCTION,
    not_applicable_reason="the stack is a lab, or has neither a Cloud nor pods",
    parameters={"namespaces": ", ".join(PUBLIC)},
    # Advisory: images pinned by digest may come from any registry, and a digest must not be guessed to pass a rule.
    enforcement=ADVISORY,
    since="0.2.0",
)
def public_images_flagged(facts: Facts, user: CloudFacts | Pods) -> Iterator[RuleProblem]:
    """Reports images from quay.io/openstack.kolla without a digest. The content of an image with a digest is fixed."""
    using = pods(facts) if isinstance(user, CloudFacts) else (user,)
    images = {image for each in using for image in each.images if image.startswith(PUBLIC) and not is_pinned(image)}
    if images:
        yield RuleProblem(
            f"{join_names(images, 2)} come from quay.io/openstack.kolla without a digest", "a mirror or digests"
        )
