"""Defense stages by name; each is imported when it is first asked for."""

from __future__ import annotations

# name -> "module:Stage"; other packages register theirs in the entry-point group securecollarag.defenses
STAGES: dict[str, str] = {
    "injection_guard": "defenses.injection_guard:InjectionGuardStage",
    "injection_query": "defenses.injection_guard:InjectionQueryStage",
    "leakage_audit": "defenses.leakage_audit:LeakageAuditStage",
    "quotation_guard": "defenses.quotation_guard:QuotationGuardStage",
    "ragmask": "defenses.ragmask.stage:RagMaskStage",
    "ragpart": "defenses.ragpart.stage:RagPartStage",
}
