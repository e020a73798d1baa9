"""The last part of every report: what it rests on, and how somebody who trusts none of us checks it."""

from collections.abc import Sequence

from msgspec import Struct

from headgate.reports.blocks import Block, Code, Fields, Heading, Paragraph, Part
from headgate.reports.model import DEFAULT_SECTIONS, ReportFormat
from headgate.reports.run import RunEvent
from headgate.reports.statements import Facts, number


class UsedFont(Struct, frozen=True):
    """One of the installation, which the file's bytes depend on. ``sha256``: of its file, hexadecimal."""

    family: str
    scripts: tuple[str, ...]
    sha256: str


def verify_part(facts: Facts, fonts: Sequence[UsedFont]) -> Part:
    basis = facts.basis
    is_pdf = basis.request.format is ReportFormat.PDF
    blocks: list[Block] = [
        Paragraph(
            "This report is a function of sealed events and of nothing else: made again for the same range and the"
            f" same checkpoint{', with the same fonts' if is_pdf else ''}, it is the same file, byte for byte. Events"
            " carry numbers without gaps, each names the hash of the one before it, and all hashes are leaves of an"
            " RFC 6962 Merkle tree whose root is signed."
        ),
        Fields((*_fields(facts), *_digests(fonts))),
    ]
    if basis.checkpoint is not None:
        blocks += [
            Heading("The signed checkpoint"),
            Paragraph("C2SP tlog-checkpoint: the log, the number of events, the root, and the signatures over them."),
            Code(basis.checkpoint.note.rstrip("\n")),
        ]
    blocks += [
        Heading("To check it"),
        Paragraph(
            "1. Take the service's public key from somebody you trust, not from this report: it is published at"
            " /.well-known/headgate-keys, and printed by headgate audit key."
        ),
        Paragraph(
            "2. Compare the checkpoint above with the one that was exported to where the database's administrator has"
            " no say: a bucket under object lock, a witness, a time-stamp authority. The root must be the same."
        ),
        Paragraph("3. Have the record verified against it; the first event that is not what was signed is named."),
        Code("headgate audit verify --checkpoints FILE-OR-FOLDER"),
        Paragraph("4. Make this report again from the same checkpoint, and compare the SHA-256 of the files."),
        Code(_again_command(facts)),
        Paragraph("5. For a single action, take its proof pack and check it without any server."),
        Code("headgate audit pack act_…\nheadgate verify act_….zip --key KEY"),
        Heading("What this report does not show"),
        Paragraph(
            "It tells what passed the gate. Whether agents have another way out is a matter of the network. The range"
            " is by the time at which events were sealed, a moment after they happened. Titles of policies and names of"
            " agents are those that the events carry. Characters that hide or reorder text are written out, as"
            f" \\u{{202e}}; {_written_out(fonts) if is_pdf else 'in a PDF so are those that its fonts do not have.'}"
            " HTML, CSV and JSON hold every character."
        ),
    ]
    return Part("What it rests on, and how to verify it", tuple(blocks))


def _fields(facts: Facts) -> list[tuple[str, str]]:
    basis, tally = facts.basis, facts.tally
    found = [("Reference", basis.reference), ("Events read", number(basis.total))]
    if tally.first is not None and tally.last is not None:
        found += [
            (
                "First event",
                f"number {number(tally.first.seq)}, sealed {tally.first.sealed_at:%Y-%m-%d %H:%M:%S.%f} UTC",
            ),
            ("Its hash", f"sha256:{tally.first.hash}"),
            ("Last event", _event(tally.last)),
            ("Its hash", f"sha256:{tally.last.hash}"),
            ("Erased content", f"{number(tally.erased)} events"),
        ]
    if basis.checkpoint is None:
        found.append(("Checkpoint", basis.no_checkpoint or "none"))
    return found


def _digests(fonts: Sequence[UsedFont]) -> list[tuple[str, str]]:
    return [(f"Font: {one.family}", f"sha256:{one.sha256}") for one in fonts]


def _written_out(fonts: Sequence[UsedFont]) -> str:
    own = "so are those that its fonts do not have. It is set in Source Sans Pro (Latin, Greek, Cyrillic)"
    if not fonts:
        return f"{own} and in no other font."
    named = ", then ".join(
        f"{one.family} ({', '.join(one.scripts) or 'none of the scripts known here'})" for one in fonts
    )
    return f"{own}; what that lacks, in {named}. In charts, marks of those are written out as well."


def _event(event: RunEvent) -> str:
    return f"number {number(event.seq)}, sealed {event.sealed_at:%Y-%m-%d %H:%M:%S.%f} UTC"


def _again_command(facts: Facts) -> str:
    request = facts.basis.request
    parts = [f"headgate reports create {request.report_type.value} --format {request.format.value}"]
    if request.start is not None:
        parts.append(f"--from {request.start.isoformat().replace('+00:00', 'Z')}")
    parts.append(f"--to {request.end.isoformat().replace('+00:00', 'Z')}")
    if facts.basis.checkpoint is not None:
        parts.append(f"--checkpoint {facts.basis.checkpoint.size}")
    if request.sections != DEFAULT_SECTIONS[request.report_type]:
        parts += [f"--include {one.value}" for one in request.sections]
    return " \\\n  ".join(parts)
