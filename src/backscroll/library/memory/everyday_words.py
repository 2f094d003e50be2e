"""Everyday words: everyone chooses them differently, so their absence from a passage proves nothing. Pure.

Verbs, adjectives, adverbs and general nouns that name no topic. Words that are often a topic too (`limit`, `release`,
`schedule`, `push`) are not here. Each word represents its inflections.
"""

from collections.abc import Iterator
from typing import Final


def is_everyday(word: str) -> bool:
    """Whether a word, in any form, names no topic."""
    word = word.lower()
    return word not in NAMED and any(base in EVERYDAY for stem in bases_of(word) for base in bases_of(stem))


def bases_of(word: str) -> Iterator[str]:
    """Yield the words that this may be an inflection of, and the word itself; most of them do not exist."""
    yield word
    for ending, base in INFLECTIONS:
        if word.endswith(ending) and len(word) - len(ending) + len(base) >= SHORTEST_BASE:
            stem = word.removesuffix(ending)
            yield stem + base
            if not base and ending in ("ed", "ing") and len(set(stem[-2:])) == 1:
                yield stem[:-1]


SHORTEST_BASE: Final = 3
INFLECTIONS: Final = (
    ("s", ""), ("es", ""), ("ies", "y"), ("d", ""), ("ed", ""), ("ied", "y"), ("ing", ""), ("ing", "e"), ("ly", ""),
    ("ily", "y"), ("iest", "y"),
)  # fmt: skip
NAMED: Final = frozenset({"goods", "meeting", "meetings", "news", "seed", "setting", "settings"})
"""Nouns that only look like forms of another word."""
EVERYDAY: Final = frozenset(
    """
    ability able aboard above abroad absence absent absolute absurd accept accidental accomplish accordingly accurate
    achieve acquire across act activate active actual acute adapt add additional address adequate adjacent adjust admit
    adopt advantage advice advise affect afford afraid afterwards against aggressive agree ah ahead aim alike alive
    allow almost alone along aloud already alright alter alternative although altogether always amazing ambiguous among
    amount ancient angry announce annoy another answer anticipate anybody anyhow anymore anyone anything anyway anywhere
    apart apologize apparent appear applicable apply appreciate approach appropriate approximate arbitrary argue arise
    arose around arrange arrive artificial aside ask asleep aspect assert assist associate assume assumption assure
    attach attempt attend attention attract automatic available avoid aware away awful awhile awkward awoke back
    backwards bad bail bake ban bare base basic basically basis bear beat beautiful became become beforehand beg began
    begin begun behave behavior behaviour behind believe belong below bend beneath benefit beside best bet better
    between beyond big bigger biggest bit blame blank blew blow blown boring borrow both bother bottom bought bounce
    bound break brief bright brilliant bring broad broke broken brought built bunch burnt burst busy buy call calm came
    capable care careful careless carry case catch caught cause cease central certain challenge chance change chaos
    characteristic chase cheap cheat check chief choice choke choose chose chosen circumstance cite clarify clash
    classic clean clear clever cling clobber close clue clumsy coarse cold collect combination combine come comfort
    comfortable common compact comparable compare compatible compete competent complain complaint complete complex
    complexity complicate comprehensive comprise compromise compulsory conceal concept concern concise conclude
    conclusion conduct confident confirm confuse confusion conscious consequence consequently consider consideration
    consist consistent constant construct consume contain continue contrary contrast contribute contribution convenience
    convenient conventional convince cool cope correct correction correspond cost count couple course cover crazy create
    criteria criterion critical cross crucial cry cryptic cumulative curious current cut cute danger dangerous dare day
    dead deal dear decent decide decision declare deep deeper defeat defend define definite degree delay deliberately
    delicate deliver demand demonstrate dense deny depend dependent derive describe deserve desirable desire desperate
    despite detail determine deterministic develop differ difference different difficult difficulty direct direction
    dirty disabled disadvantage disagree disappear discover discrete discuss discussion dislike dismiss distant distinct
    distinction distinguish disturb ditch divide doubt downside downwards dozen draw drawback drawn dreadful drew drive
    driven drop drove due dull dumb dumbest during eager early earn ease easy effect effective efficient effort eight
    either elaborate eleven eligible eliminate else elsewhere emerge emphasis emphasize employ empty enable encounter
    encourage end endure enforce engage enhance enjoy enormous enough ensure enter entire equal equivalent escape
    especially essential establish estimate etc evaluate even eventually every everybody everyday everyone everything
    everywhere evident evolve exact examine example exceed excellent except exceptional excessive exclude exclusive
    excuse exhaustive exist exotic expand expect expectation expensive experimental explain explanation explicit explore
    expose express extend extensive extent external extra extraordinary extreme face fact fail fair faithful fall fallen
    false familiar famous fancy far fast faster fastest fatal fault faulty favor favorite favour favourite fear feasible
    feel fell felt fifth figure fill final find finding fine finish finite firm first fit five fix flaw flexible flip
    focus folks follow foolish forbid forbidden force forever forget forgive forgot forgotten form formal former forth
    fortunate forward foul found four fourth free frequent fresh friendly frighten fulfil full fully fun functional
    fundamental funny further furthermore fuss future gain gap gather gave general generate generic gentle genuine get
    giant give given glad go goal goes going gone good gotcha gotten grab gradual grand grant grateful great greet grew
    grow grown guarantee guess guidance guide guideline guy habit half hand handful handle handy hang happen happy hard
    harder harm harmful harsh hassle hate head hear heavy held hello help helpful hence hereby hesitate hey hi hid
    hidden high higher highest hint historical hit hmm hold honest hope horrible hour however huge humble hundred hung
    hurry hurt idea ideal identical identify idle ignore illustrate imaginary imagine immediate immense imminent impact
    implement implication implicit imply importance important impose impossible impress impression impressive improve
    improvement inaccurate include inclusive incompatible incomplete inconsistent incorrect increase incredible indeed
    independent indicate indirect individual inefficient inevitable inferior infinite influence inform informal inherent
    initial inner innocent insane insecure inside insist inspect inspire instant instead instruct insufficient intact
    intelligent intend intense intention intentional interest interfere interim intermediate intermittent internal
    interpret interrupt introduce intuition invalid invent investigate invisible involve irregular irrelevant isolated
    issue item join joint judge judgement jump justify keen keep kept kill kind knew know knowledge known lack laid lain
    large larger largest late later latest latter lay lazy lead lean learn least leave led left legitimate lend lengthy
    lenient lent less lesser lie lift lightweight like likewise limited listen lit literal little lively locate logical
    lone long longer longest look loose lose lost lot loud love low lower lowest luck lucky mad main maintain major
    majority make manage mandatory manner many mark massive match matter mature maximal maximum maybe mean meaningful
    meant meanwhile meet mend mention mere mess messy met middle mild million mind minimal minimum minor minority minute
    misconception miss mistake mistaken mistook misunderstanding mixed moderate modern modest modify moment month
    moreover mostly move much multiple must mutual mysterious mystery naive name narrow nasty natural nature near nearby
    neat necessary necessity need neglect neither nervous neutral never nevertheless new newer newest next nice nine
    nobody none nonetheless normal notable nothing notice noticeable notion notorious nowadays nowhere nuance number
    numerous obey objection oblige obscure obsolete obstacle obtain obvious occasion occasional occupy occur odd
    offending offer often oh ok okay old older oldest omit one ongoing onwards open opinion opportunity oppose opposite
    optimal option optional ordinary origin original originate otherwise ought ours outcome outdated outer outside
    outstanding overall overcame overcome overlook overnight overview overwritten owe paid painful pair part partial
    participate particular pass past pay peculiar people per percentage perfect perform perhaps permanent permit persist
    persistent person personal perspective persuade pesky phenomenon pick piece pitfall place plan plausible pleasant
    plenty point popular positive possess possibility possible possibly postpone potential powerful practical practice
    pragmatic praise precise predictable prefer preference preliminary premature prepare present preserve pretend pretty
    prevent previous primary principal prior pristine probable probably problem proceed produce productive proficient
    profound prohibit prominent promise pronounce proper proposal propose proud prove proven provide pure purpose pursue
    put question quick quicker quickest quiet quite raise ran rang rapid rare rather reach react read ready real
    realistic realize reappear rearrange reason reasonable recall receive recent reckon recognize recommend
    recommendation reconsider recover reduce redundant refer refine reflect refuse regard regret regular reject relate
    relation relative relax relevant reliable reluctant rely remain remark remarkable remedy remember remove reopen
    reorder reorganize repair repeat replace reply represent representative request require requirement rescue resemble
    resist resolution resolve respect respective respond responsible rest restrict result retain retire return reuse
    reveal reverse revise revisit reward rich rid ridiculous right rigid rigorous rise risen robust role roll rough
    routine run rush safe safer sake sane sat satisfactory satisfy save saw say scarcely scare scatter scenario second
    see seek seem seen seize seldom select self send sense sensible sensitive sent separate serious serve set settle
    seven several severe shake shaken shallow shape share sharp shift shiny shook shoot short shortcoming shorten
    shorter shortest shout show shown shrink shut side significant silent silly similar similarity simple simpler
    simplest simplify simply simultaneous since single sit situation six size skip slick slide slight slip slow slower
    slowest small smaller smallest smooth sneaky soft sold sole solid solution solve somebody somehow someone something
    sometime somewhat somewhere soon sophisticated sorry sort sought sound spare speak special specific specify spend
    spent split spoke spoken spontaneous spot spread spurious stable stale stand stare start state stay steady steep
    steer step stick sticky stiff still stood stop straight straightaway straightforward strange strength strengthen
    stress stretch strict strike strip strong stronger strongest struck struggle stubborn stuck study stuff stumble
    stupid submit subsequent subsidiary substantial subtle succeed success successful sudden suffer sufficient suggest
    suggestion suit suitable summarise summarize superficial superfluous superior support suppose sure surplus surprise
    surround survive suspect suspicious sustain swap swift symmetric synonymous systematic tackle take taken tall
    tangible technique tedious tell temporary temptation ten tendency term terrible thank themselves thereafter thereby
    therefore thick thin think third thorough though thought thousand threaten three threw throughout throw thrown thus
    tidy tie tight tiny tired today together told tomorrow tonight took top topic tore torn total touch tough toward
    transparent treat trick tricky trivial trouble troublesome true truly trust truth try turn twelve twice twist two
    type typical ugly ultimate unable unaware uncertain uncertainty unchanged unclear uncommon underlying underneath
    understanding understood undesired unexpected unfair unfamiliar unfinished unfortunate unhappy uniform unify
    unimportant unique unite universal unknown unless unlike unnecessary unpleasant unreasonable unrelated unreliable
    unsafe unstable unsuitable untouched unused unusual unwanted update upon upper upset upside upwards urge urgent use
    useful useless usual utilize vague vain valid valuable value vanish variation variety various vary vast verbose
    verdict verify viable view viewpoint violate visible visit vital vivid vulnerable wait wake walk wander want warm
    warn wary waste watch weak weaken weaker weakness week weigh weird welcome well went whatever whatsoever whenever
    whereas whereby wherever whether whole wide wider wild willing willingness win wipe wise wish within without woke
    won wonder wonderful word wore work workaround worn worry worse worsen worst worth worthwhile worthy wow wrap write
    written wrong wrote year yes yesterday yield young younger zero
    """.split()
)
