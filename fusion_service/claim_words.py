"""The English of claims: which way words say that something goes, what denies, what reaches how far, as data."""

from __future__ import annotations

# Which way a word says that something goes.
_UP = """
    abundant accelerate accelerated accelerates accelerating accept accepted accepts activate activated
    activates allow allowed allows augment augmented augments better elevate elevated elevates elevation enable
    enabled enables encourage encouraged encourages enhance enhanced enhances enhancing exacerbate exacerbates
    expand expanded expands facilitate facilitates faster gain gained gains greater grew grow grown grows growth
    high higher improve improved improvement improves improving include included includes increase increased
    increases increasing induce induced induces larger longer more positive positively promote promoted promotes
    promoting raise raised raises raising require required requires rise risen rises rising rose stimulate
    stimulated stimulates strengthen strengthens superior support supports upregulate upregulated upregulates
    upregulation worsen worsened worsens
"""
_DOWN = """
    abolish abolished abolishes ameliorate ameliorated ameliorates attenuate attenuated attenuates block blocked
    blocks decline declined declines decrease decreased decreases decreasing denied denies deny diminish
    diminished diminishes disable disabled disables disrupt disrupts downregulate downregulated downregulates
    downregulation drop dropped drops exclude excluded excludes fall fallen falls fell fewer forbid forbidden
    forbids hinder hinders impair impaired impairing impairs impede impeded impedes inferior inhibit inhibited
    inhibiting inhibition inhibits lack lacking lacks less lesser limit limits loss low lower lowered lowers
    milder negative negatively prevent prevented preventing prevents protect protected protects reduce reduced
    reduces reducing reduction reductions reject rejected rejects scarce shorter shrank shrink shrinks slow
    slowed slower slows smaller suppress suppressed suppresses suppressing suppression weaken weakens worse
"""
DIRECTIONS = dict.fromkeys(_UP.split(), 1) | dict.fromkeys(_DOWN.split(), -1)

# Comparable forms of what "no effect of" and "not associated with" deny.
_EFFECTS = """
    affect associat association benefit caus contribut correlat correlation differenc effect evidenc impact
    improv improvement influenc interact interaction lead relat relation relationship result rol
"""
EFFECTS = frozenset(_EFFECTS.split())

# A word and the one that its prefix denies.
_PREFIXED = {
    "un": "related necessary supported safe stable available affected likely able changed encrypted limited known",
    "in": "effective accurate active dependent sufficient secure complete consistent valid direct sensitive",
    "im": "possible mutable probable",
    "ir": "relevant reversible regular",
    "non": "essential linear blocking toxic functional",
    "dis": "similar allowed continued connected",
}
PREFIXES = {f"{prefix}{word}": word for prefix, rest in _PREFIXED.items() for word in rest.split()}

# How much of its subject a sentence speaks of.
ALL = frozenset({"all", "every", "always", "each", "any", "everywhere", "entirely"})
SOME = frozenset({"only", "some", "sometimes", "except", "unless", "partly", "partially", "rarely", "occasionally"})

# A sentence with one of these reports a question or a plan, not a finding.
_OPEN = """
    aim aimed aims assess evaluate examine examined explore hypothesis hypothesise hypothesised hypothesize hypothesized
    investigate investigated objective purpose unclear unknown whether
"""
OPEN = frozenset(_OPEN.split())
