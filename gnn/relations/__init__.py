"""Relations between documents of one round: do they tell the same facts, or conflicting ones?"""
