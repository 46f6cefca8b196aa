"""Who may ask a node, and how much: the policy of callers, their rates, their budgets."""
