# ruff: noqa: E501
"""Words that tampering exchanges: opposites, and classes whose members can stand in for each other."""

from __future__ import annotations

_OPPOSITES = """
more less|higher lower|high low|highest lowest|larger smaller|large small|largest smallest|greater lesser
greatest least|bigger smaller|biggest smallest|longer shorter|long short|longest shortest|older younger
oldest youngest|old new|oldest newest|earlier later|earliest latest|early late|first last|former latter
better worse|best worst|strong weak|stronger weaker|strongest weakest|faster slower|fast slow|rapid slow
rapidly slowly|increase decrease|increases decreases|increased decreased|increasing decreasing
rise fall|rises falls|rose fell|risen fallen|rising falling|gain loss|gains losses|gained lost|grow shrink
grew shrank|growth decline|growing declining|improve worsen|improves worsens|improved worsened
improvement deterioration|reduce increase|reduces increases|reduced increased|reduction increase
before after|above below|north south|northern southern|east west|eastern western
northeast southwest|northwest southeast|northeastern southwestern|northwestern southeastern
upper lower|inner outer|top bottom|front back|inside outside|male female|males females|men women|man woman
boy girl|boys girls|father mother|brother sister|son daughter|husband wife|king queen|actor actress
positive negative|positively negatively|effective ineffective|common rare|commonly rarely|often seldom
frequently infrequently|usually rarely|always never|mostly hardly|major minor|severe mild|severely mildly
acute chronic|benign malignant|safe unsafe|normal abnormal|similar different|same different
able unable|likely unlikely|possible impossible|successful unsuccessful|successfully unsuccessfully
important unimportant|significant insignificant|significantly insignificantly|necessary unnecessary
known unknown|equal unequal|stable unstable|regular irregular|active inactive|complete incomplete
public private|internal external|domestic foreign|direct indirect|directly indirectly|primary secondary
maximum minimum|majority minority|many few|begin end|began ended
begins ends|beginning end|start finish|started finished|starts finishes|open closed|opened closed
won lost|win lose|wins loses|victory defeat|winner loser|winners losers|win defeat|success failure
accepted rejected|accept reject|allowed forbidden|allow forbid|allows forbids|agreed refused|agree refuse
supported opposed|support oppose|supports opposes|included excluded|include exclude|includes excludes
including excluding|inherited acquired|dominant recessive|autosomal X-linked|hot cold|warm cool
heavy light|wet dry|hard soft|wide narrow|deep shallow|young old|rich poor|full empty|alive dead|dark light
ancient modern|rural urban|remote nearby|professional amateur|permanent temporary|voluntary involuntary
presence absence|present absent|cause prevent|causes prevents|caused prevented|causing preventing
accelerate delay|accelerated delayed|enhanced impaired|enhance impair|enhances impairs|superior inferior
efficient inefficient|beneficial harmful|useful useless|sufficient insufficient|adequate inadequate
buy sell|bought sold|purchase sale|purchases sales|borrow lend|profit loss|profits losses|profitable unprofitable
asset liability|assets liabilities|income expense|revenue expense|revenues expenses|credit debit
payable receivable|favorable unfavorable|favourable unfavourable|benefit cost|benefits costs|current non-current
upward downward|surplus deficit|exceeded missed|exceed miss|expand contract|expanded contracted|raise cut
raised cut|arrived left|appeared disappeared|appear disappear|attached detached|connected disconnected
visible invisible|formal informal|mature immature|dependent independent|dependently independently
"""

_CLASSES = {
    "nationality": """American British English French German Italian Spanish Russian Chinese Japanese Canadian
        Australian Indian Irish Scottish Welsh Dutch Swedish Norwegian Danish Polish Mexican Brazilian Greek
        Turkish Egyptian Korean Austrian Swiss Belgian Portuguese Hungarian Finnish Argentine Israeli""",
    "country": """France Germany Italy Spain Russia China Japan Canada Australia India Ireland Scotland Wales
        Sweden Norway Denmark Poland Mexico Brazil Greece Turkey Egypt Austria Switzerland Belgium Portugal
        Hungary Finland Argentina Israel England Britain Netherlands Iran Iraq Pakistan Kenya Nigeria Chile Peru""",
    "state": """Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii
        Idaho Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota
        Mississippi Missouri Montana Nebraska Nevada Ohio Oklahoma Oregon Pennsylvania Tennessee Texas Utah
        Vermont Virginia Wisconsin Wyoming""",
    "month": """January February March April June July August September October November December""",
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "continent": "Europe Asia Africa Antarctica Oceania",
    "condition": """hypertension diabetes asthma pneumonia arthritis epilepsy anemia hepatitis cirrhosis stroke
        leukemia lymphoma melanoma osteoporosis depression anxiety schizophrenia migraine psoriasis eczema
        tuberculosis malaria influenza meningitis sepsis gout glaucoma cataracts obesity dementia autism
        pancreatitis appendicitis colitis bronchitis endometriosis infertility hypothyroidism hyperthyroidism
        hypotension neuropathy nephritis dermatitis sinusitis tonsillitis scoliosis hemophilia thrombosis""",
    "organ": """kidney liver lung heart brain stomach pancreas spleen bladder colon uterus thyroid esophagus
        prostate ovary skin bone retina""",
    "organs": "kidneys lungs bones eyes ears nerves muscles joints lymph ovaries arteries veins",
    "treatment": """chemotherapy radiotherapy surgery immunotherapy physiotherapy dialysis transplantation
        antibiotics antivirals corticosteroids steroids insulin aspirin ibuprofen acetaminophen metformin
        warfarin heparin morphine penicillin vaccination antidepressants diuretics statins anticoagulants
        antihistamines hydrocortisone methotrexate tamoxifen propranolol lithium""",
    "vitamin": "calcium iron zinc magnesium potassium sodium copper iodine phosphorus",
    "form": "tablet capsule injection cream inhaler patch syrup",
    "color": "red blue green yellow black white brown purple orange pink grey silver golden",
    "profession": """actor singer writer painter physician lawyer engineer architect composer poet novelist
        historian journalist politician footballer chemist physicist biologist philosopher soldier teacher""",
}
_NOT_NAMES = """
The A An In On At By For From To Of With Without As And But Or Nor So Yet If When While Where Who Whom Whose
Which What Why How This That These Those It Its He She They We You I His Her Their Our Your My There Here
Then Thus Hence However Therefore Moreover Furthermore Also Although Though Because Since After Before
During Until Unless Once Upon Under Over Between Among Through Throughout Both Each Every All Any Some Most
Many Much Few Several One Two Three Four Five Six Seven Eight Nine Ten First Second Third Last Next Other
Others Another Such Only Not No None Neither Either Today Now Later Early Often Sometimes Usually Generally
Is Are Was Were Be Been Being Has Have Had Do Does Did Can Could May Might Will Would Shall Should Must Let
More Less According Despite Like Unlike Using Based Given Due Following Additionally Overall Results
Conclusion Conclusions Methods Background Objective Patients Children People Women Men Symptoms Treatment
Doctors Researchers Mean Data Studies Study Talk Ask See Net Total Sales Revenue Income Eat Drink Take Avoid
Keep Wash Use Do Don't Call Check Get Make Learn Read About Yes
"""


_ONE_WAY = {"without": "with", "most": "few"}


def _pairs() -> dict[str, str]:
    table: dict[str, str] = dict(_ONE_WAY)
    for pair in _OPPOSITES.replace("\n", "|").split("|"):
        if pair.strip():
            left, right = pair.split()
            table.setdefault(left, right)
            table.setdefault(right, left)
    return table


OPPOSITES: dict[str, str] = _pairs()
MEMBERS: dict[str, tuple[str, ...]] = {name: tuple(listed.split()) for name, listed in _CLASSES.items()}
CLASSES: dict[str, str] = {member: name for name, members in MEMBERS.items() for member in members}
NOT_NAMES: frozenset[str] = frozenset(_NOT_NAMES.split())
