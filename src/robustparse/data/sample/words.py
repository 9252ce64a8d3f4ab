"""The words of the embedded sample treebank, by lexical class.

A class is what decides an attachment: a tool or a part after "with", a transitive or an
intransitive participle before a plural noun. All words of one class carry the same tags, and no
form stands in two classes, so that one word may replace another of its class without changing the
parse. Two classes hold forms with two tags each (`dual`: work as a noun or a verb; `erg`: trained
as a past tense or a participle); these are told apart by the rest of the sentence alone.
"""

from types import MappingProxyType

from robustparse.data.sample.nouns import NOUNS

OPEN = MappingProxyType(
    {
        **NOUNS,
        "trans": (
            "VERB",
            ("VBD",),
            """visited painted described photographed examined admired praised ignored collected
            copied sketched inspected criticised defended protected attacked followed supported
            assisted replaced rejected selected compared approached touched surrounded abandoned
            restored insured rented purchased acquired borrowed catalogued condemned concealed
            damaged displayed filmed financed guarded honoured identified imitated labelled
            measured mocked""",
        ),
        "ditr": (
            "VERB",
            ("VBD",),
            """gave handed sent offered lent showed mailed passed paid owed awarded granted loaned
            posted tossed threw brought fetched served assigned allotted issued bequeathed wired
            sold guaranteed conceded promised taught slipped""",
        ),
        "claus": (
            "VERB",
            ("VBD",),
            """believed claimed thought knew reported suspected admitted denied announced doubted
            forgot guessed heard learned noticed noted predicted proved realised recalled revealed
            understood sensed suggested explained confirmed concluded declared discovered
            emphasised estimated imagined inferred maintained observed perceived recognised
            regretted stated stressed verified argued acknowledged""",
        ),
        "intr": (
            "VERB",
            ("VBD",),
            """arrived smiled laughed complained waited slept cried shouted sneezed apologised
            hesitated resigned yawned blushed coughed fainted frowned gasped giggled grinned
            grumbled knelt lied mumbled muttered nodded panicked paused prayed quarrelled relaxed
            screamed shivered shrugged sighed snored sobbed stammered stumbled sulked trembled wept
            whistled winked""",
        ),
        "wear": (
            "VERB",
            ("VBD",),
            """leaked rusted cracked collapsed exploded rattled squeaked creaked melted corroded
            crumbled decayed disintegrated eroded faded flickered gleamed glistened glowed jammed
            malfunctioned overheated rotted sagged shattered shrank sparkled splintered stalled
            tarnished toppled vibrated warped wobbled swelled swayed buckled burst""",
        ),
        "erg": (
            "VERB",
            ("VBD", "VBN"),
            """trained gathered moved settled assembled transferred dispersed united drowned
            scattered burned starved regrouped separated evacuated relocated enrolled dressed
            sheltered""",
        ),
        "go": (
            "VERB",
            ("VBD",),
            """returned hurried went came travelled rushed sailed drove walked flew raced hastened
            journeyed""",
        ),
        "like": (
            "VERB",
            ("VBD",),
            """enjoyed hated loved liked disliked feared avoided tolerated resented missed
            remembered mentioned discussed recommended""",
        ),
        "psych": (
            "VERB",
            ("VBD",),
            """pleased annoyed surprised bored amused worried delighted irritated frightened
            disturbed impressed fascinated puzzled thrilled angered amazed shocked confused""",
        ),
        "habit": (
            "VERB",
            ("VBZ",),
            """supports avoids encourages rewards needs wants enjoys bans promotes limits controls
            values forbids prevents demands discourages expects favours funds hinders ignores
            improves lacks loves measures monitors neglects opposes organises permits praises
            prohibits recommends regulates rejects requires resists restricts sponsors tolerates
            welcomes dislikes despises prizes sanctions subsidises""",
        ),
        "dual": (
            ("NOUN", "VERB"),
            ("NN", "VBP"),
            """work travel trade help change talk rest play dance progress study debate protest
            research struggle hope gossip dissent compromise exercise reform""",
        ),
        "handle": (
            "VERB",
            ("VBG",),
            """feeding washing training drawing chasing raising painting buying selling breeding
            hunting photographing sketching grooming brushing guarding herding taming riding
            stroking cuddling weighing counting tracking trapping filming vaccinating shearing
            naming rescuing adopting examining transporting importing exporting teasing saddling
            tethering sedating""",
        ),
        "roam": (
            "VERB",
            ("VBG",),
            """barking galloping sleeping running howling growling jumping dancing limping yawning
            snoring wandering swimming trembling shivering sneezing roaming trotting crawling
            squealing grunting whimpering whining bleating prowling stumbling strolling squabbling
            dozing hibernating frolicking lurking shrieking panting leaping loitering cowering
            coughing quarrelling migrating""",
        ),
        "inf": (
            "VERB",
            ("VB",),
            """celebrate negotiate vote sing apologise complain pray recover retire relax shop swim
            ski compete perform rehearse volunteer emigrate gamble graduate hike meditate mourn
            preach rejoice reminisce sunbathe surf testify philosophise eavesdrop campaign
            collaborate convalesce deliberate improvise canoe participate""",
        ),
        "adj": (
            "ADJ",
            ("JJ",),
            """old new big small red green blue heavy dark large tiny narrow wide cheap expensive
            ancient modern rusty dusty shiny wooden plain elegant fragile sturdy gigantic grey white
            black yellow dirty strange ugly beautiful famous ordinary antique bulky compact damp
            delicate enormous flimsy gaudy hideous immense spotless timeworn""",
        ),
        "mood": (
            "ADJ",
            ("JJ",),
            """calm happy tired nervous quiet angry sad cheerful silent hungry proud polite anxious
            patient gloomy hopeful sleepy thirsty jealous bitter lonely stubborn grumpy serene timid
            alert vigilant restless weary wary pensive morose sullen jovial""",
        ),
        "degree": (
            "ADV",
            ("RB",),
            """very extremely quite rather fairly terribly remarkably incredibly awfully
            exceptionally unusually utterly completely totally somewhat highly intensely immensely
            tremendously exceedingly extraordinarily moderately slightly vastly profoundly supremely
            hugely dreadfully""",
        ),
        "often": (
            "ADV",
            ("RB",),
            """often suddenly always quickly usually gradually rarely sometimes eventually finally
            soon frequently generally occasionally seldom slowly rapidly instantly immediately
            temporarily momentarily periodically intermittently invariably habitually unexpectedly
            subsequently repeatedly""",
        ),
    }
)
"""Content words: class -> (UPOS, Penn tags, words). Substitutes come from the same class."""
