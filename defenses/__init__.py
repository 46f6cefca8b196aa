"""Defense stages by name; each is imported when it is first asked for."""

from __future__ import annotations

# name -> "module:Stage"; other packages register theirs in the entry-point group securecollarag.defenses
STAGES: dict[str, str] = {
    "always_drop": "defenses.always:AlwaysDropStage",
    "always_keep": "defenses.always:AlwaysKeepStage",
    "attention_variance": "defenses.attention_variance:AttentionVarianceStage",
    "filterrag": "defenses.filterrag:FilterRagStage",
    "injection_guard": "defenses.injection_guard:InjectionGuardStage",
    "injection_query": "defenses.injection_guard:InjectionQueryStage",
    "leakage_audit": "defenses.leakage_audit:LeakageAuditStage",
    "ml_filterrag": "defenses.ml_filterrag:MlFilterRagStage",
    "paraphrase": "defenses.paraphrase:ParaphraseStage",
    "perplexity": "defenses.perplexity:PerplexityStage",
    "quotation_guard": "defenses.quotation_guard:QuotationGuardStage",
    "ragdefender": "defenses.ragdefender:RagDefenderStage",
    "ragmask": "defenses.ragmask.stage:RagMaskStage",
    "ragpart": "defenses.ragpart.stage:RagPartStage",
    "tris": "defenses.tris.stage:TrisStage",
    "trustrag": "defenses.trustrag:TrustRagStage",
}
