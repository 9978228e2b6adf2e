"""What is read of ping's output: packets lost between answers, not those under way at the end."""

from __future__ import annotations

from trials.services.steady_pings import PacketLoss, result


def said(*answered: int, sent: int) -> str:
    lines = [f"64 bytes from 192.168.1.12: icmp_seq={number} ttl=64 time=0.5 ms" for number in answered]
    lines.append(f"From 192.168.1.11 icmp_seq={sent} Destination Host Unreachable")
    return "\n".join([*lines, "", f"{sent} packets transmitted, {len(answered)} received"])


def test_every_packet_came_back() -> None:
    assert result(said(1, 2, 3, sent=3)) == PacketLoss(3, 0, 0.0)


def test_packets_between_answers_are_lost() -> None:
    assert result(said(3, 4, 8, 9, sent=9)) == PacketLoss(9, 5, 0.3)


def test_packets_after_the_last_answer_do_not_count() -> None:
    assert result(said(1, 2, sent=4)) == PacketLoss(2, 0, 0.0)


def test_an_answer_that_comes_twice_counts_once() -> None:
    assert result(said(1, 1, 2, sent=2)) == PacketLoss(2, 0, 0.0)


def test_without_an_answer_nothing_is_known() -> None:
    assert result(said(sent=5)) == PacketLoss(0, 0, 0.0)
