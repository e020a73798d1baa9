"""What frameworks ask for, and what the record says about it. The clauses are paraphrased; the texts are their own.

Sources: AICPA, Trust Services Criteria (2017, points of focus of 2022), CC6 and CC7; ISO/IEC 27001:2022, annex A, 8.15;
Regulation (EU) 2024/1689 (AI Act), articles 12, 14 and 26(6); NIST AI 100-1 (AI RMF 1.0).
"""

from collections.abc import Sequence

from msgspec import Struct

from headgate.reports.statements import (
    Facts,
    Statement,
    all_of,
    decided,
    happened,
    intact,
    never,
    permitted,
    retained,
    reviewed,
    signed,
)

_SIX_MONTHS_DAYS = 183


class Control(Struct, frozen=True):
    """``beyond``: what an auditor has to look for elsewhere, because no record of actions can show it."""

    framework: str
    clause: str
    title: str
    asks: str
    statements: tuple[Statement, ...]
    beyond: str


def controls(facts: Facts) -> Sequence[Control]:
    return [*_soc2(facts), *_iso27001(facts), *_ai_act(facts), *_nist(facts)]


def _soc2(facts: Facts) -> list[Control]:
    framework = "SOC 2 (Trust Services Criteria)"
    return [
        Control(
            framework, "CC6.1", "Logical access is restricted",
            "Access to protected information assets goes through logical access security.",
            (
                all_of(facts, "submitted_identified", "submitted",
                       "Every action was submitted by an identified agent, with the key on record."),
                permitted(facts),
            ),
            "That agents have no way around the gate: network rules are not in this record.",
        ),
        Control(
            framework, "CC6.2, CC6.3", "Access is granted, changed and removed",
            "Credentials are issued on authorization, changed with roles, and removed when no longer needed.",
            (
                happened(facts, "keys_created", "Keys were issued, each with its actor and time.", "keys issued"),
                all_of(facts, "keys_expiring", "keys_issued", "Every key that somebody issued has an expiry."),
                happened(facts, "keys_revoked", "Keys were revoked.", "keys revoked"),
                happened(facts, "agents_ended", "Agents were suspended or deactivated.", "agents ended"),
                happened(facts, "users_ended", "People were deactivated.", "people deactivated"),
            ),
            "Whether those who should have lost access did: that needs the list of leavers.",
        ),
        Control(
            framework, "CC6.6", "Threats from outside the boundary",
            "The system protects itself against access from outside its boundaries.",
            (
                happened(facts, "requests_refused", "Requests that were malformed, too large, too many or to forbidden"
                         " addresses were refused before they were actions.", "requests refused"),
                happened(facts, "destinations_blocked", "Calls to private or internal addresses were blocked.",
                         "calls blocked"),
            ),
            "Protection of the network around the gate.",
        ),
        Control(
            framework, "CC7.1", "Changes of configuration are detected",
            "Changes that could introduce vulnerabilities are detected and monitored.",
            (
                happened(facts, "policy_changes", "Changes of policies are on record, each with version and digest.",
                         "changes"),
                happened(facts, "settings_changed", "Changes of settings are on record.", "changes"),
            ),
            "Changes of the infrastructure that Headgate runs on.",
        ),
        Control(
            framework, "CC7.2", "Operation is monitored for anomalies",
            "System components are monitored for anomalies that point to malicious acts, and these are analysed.",
            (
                decided(facts, "Every action that was submitted was decided, and the decision recorded."),
                all_of(facts, "decided_reasoned", "decided", "Every decision names its reason."),
                happened(facts, "content_checked", "Content was examined by language-model policies or detectors.",
                         "decisions with a content check"),
            ),
            "That somebody looked at the results.",
        ),
        Control(
            framework, "CC7.3, CC7.4", "Security events are evaluated and responded to",
            "Security events are evaluated, and incidents answered by a defined response.",
            (
                happened(facts, "denied", "Actions were denied.", "actions denied"),
                happened(facts, "stops_placed", "An agent, a tool or everything was stopped.", "stops placed"),
                reviewed(facts),
            ),
            "The incident response process itself.",
        ),
    ]  # fmt: skip


def _iso27001(facts: Facts) -> list[Control]:
    return [
        Control(
            "ISO/IEC 27001:2022", "A.8.15", "Logging",
            "Logs of activities, exceptions, faults and other relevant events are produced, stored, protected and"
            " analysed.",
            (
                happened(facts, "events", "Produced: events of agents, people and the system itself.", "events"),
                happened(facts, "executions_failed", "Faults: executions that failed are on record.", "failures"),
                intact(facts),
                signed(facts),
                happened(facts, "reports_downloaded", "Analysed: reports about the record were taken.", "downloads"),
            ),
            "Whether logs of other systems are kept, that clocks are synchronized, and that exported checkpoints are"
            " out of the database administrator's reach.",
        )
    ]  # fmt: skip


def _ai_act(facts: Facts) -> list[Control]:
    framework = "EU AI Act (Regulation 2024/1689)"
    return [
        Control(
            framework, "Art. 12", "Record-keeping",
            "High-risk AI systems allow for the automatic recording of events over their lifetime, so that their"
            " functioning can be traced.",
            (
                decided(facts, "Each action of an agent was recorded automatically, with its decision."),
                all_of(facts, "submitted_bound", "submitted", "Each action is bound by digests to the very request that"
                       " was made."),
                intact(facts),
            ),
            "Events inside the AI system that lead to no action. Whether a system is high-risk is a legal question.",
        ),
        Control(
            framework, "Art. 14", "Human oversight",
            "People can oversee the system, decide not to use its output, intervene in its operation and stop it.",
            (
                happened(facts, "approvals_requested", "Actions were held for a person's decision.", "actions held"),
                all_of(facts, "approvals_decided_by_people", "approvals_decided", "Every decision about a held action"
                       " was a person's."),
                never(facts, "approvals_by_agents", "approvals_decided", "No agent decided about a held action.",
                      "decisions by agents"),
                never(facts, "high_risk_allowed", "high_risk", "No action that policies rate high or critical was"
                      " allowed without being held for a person.", "allowed at once"),
                happened(facts, "approvals_denied", "Held actions were denied: agents were overruled.", "denials"),
                happened(facts, "stops_placed", "Operation was stopped by intervention.", "stops placed"),
            ),
            "That those who decide have the competence, training and authority that Art. 26(2) asks for.",
        ),
        Control(
            framework, "Art. 26(6)", "Keeping of logs by deployers",
            "Deployers keep the logs that a high-risk system generates automatically, under their control, for at least"
            " six months.",
            (retained(facts, _SIX_MONTHS_DAYS), signed(facts)),
            "Logs that the provider keeps, and longer periods that other law sets.",
        ),
    ]  # fmt: skip


def _nist(facts: Facts) -> list[Control]:
    framework = "NIST AI RMF 1.0"
    return [
        Control(
            framework, "GOVERN 3.2, MAP 3.5", "Human oversight is defined",
            "Roles of people in the oversight of AI systems are defined and documented.",
            (
                happened(facts, "approvals_requested", "Policies named people's approval as the condition of actions.",
                         "approvals requested"),
                all_of(facts, "decided_by_policy", "decided", "Every decision names the policy that made it."),
            ),
            "The organization's own policies about oversight.",
        ),
        Control(
            framework, "MEASURE 2.4", "Behaviour is monitored in production",
            "The functionality and behaviour of the AI system are monitored when in production.",
            (
                happened(facts, "decided", "Actions were monitored as they were made.", "decisions"),
                happened(facts, "high_risk", "Actions were rated high or critical by policy.", "actions rated so"),
            ),
            "Quality, fairness and drift of the model's answers.",
        ),
        Control(
            framework, "MEASURE 2.8", "Accountability can be examined",
            "Risks of transparency and accountability are examined and documented.",
            (intact(facts), signed(facts)),
            "Explanations of why an agent proposed an action.",
        ),
        Control(
            framework, "MANAGE 2.4", "Systems can be superseded, disengaged, deactivated",
            "Mechanisms exist and are applied to supersede, disengage or deactivate AI systems.",
            (
                happened(facts, "stops_placed", "The kill switch was used.", "stops placed"),
                happened(facts, "agents_ended", "Agents were suspended or deactivated.", "agents ended"),
                happened(facts, "approvals_denied", "Actions that were held were superseded by a denial.", "denials"),
            ),
            "Exercises of these mechanisms that left no event.",
        ),
    ]  # fmt: skip
