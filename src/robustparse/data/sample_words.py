"""The words of the embedded sample treebank, by lexical class.

A class is what decides an attachment: a tool or a part after "with", a transitive or an
intransitive participle before a plural noun. All words of one class carry the same tags, and no
form stands in two classes, so that one word may replace another of its class without changing the
parse. Two classes hold forms with two tags each (`dual`: work as a noun or a verb; `erg`: trained
as a past tense or a participle); these are told apart by the rest of the sentence alone.
"""

from types import MappingProxyType

CLOSED = MappingProxyType(
    {
        "det": ("DET", ("DT",), "the this every another each"),
        "dets": ("DET", ("DT",), "the these those some"),
        "poss": ("PRON", ("PRP$",), "his her their our my"),
        "she": ("PRON", ("PRP",), "she he"),
        "them": ("PRON", ("PRP",), "him them us"),
        "with": ("ADP", ("IN",), "with"),
        "at": ("ADP", ("IN",), "in at"),
        "of": ("ADP", ("IN",), "of"),
        "during": ("ADP", ("IN",), "during before after"),
        "beside": ("ADP", ("IN",), "beside behind under"),
        "near": ("ADP", ("IN",), "near outside"),
        "toadp": ("ADP", ("TO",), "to"),
        "toinf": ("PART", ("TO",), "to"),
        "that": ("SCONJ", ("IN",), "that"),
        "rel": ("PRON", ("WDT",), "that"),
        "because": ("SCONJ", ("IN",), "because although while"),
        "when": ("SCONJ", ("WRB",), "when whenever"),
        "and": ("CCONJ", ("CC",), "and"),
        "was": ("AUX", ("VBD",), "was"),
        "were": ("AUX", ("VBD",), "were"),
        "modal": ("AUX", ("MD",), "will must should could"),
        "comma": ("PUNCT", (",",), ","),
        "stop": ("PUNCT", (".",), "."),
        "stay": ("VERB", ("VBD",), "stayed remained became grew"),
    }
)
"""Function words: class -> (UPOS, Penn tags, words). They are never substituted."""

OPEN = MappingProxyType(
    {
        "person": (
            "NOUN",
            ("NN",),
            """farmer teacher doctor nurse baker sailor lawyer painter singer writer driver pilot
            cook waiter banker tailor plumber carpenter gardener butcher librarian judge soldier
            priest mayor captain student neighbour dentist chemist barber grocer jeweller potter
            poet actor dancer violinist surgeon detective senator professor miner fisherman
            blacksmith shepherd tenant""",
        ),
        "owner": (
            "NOUN",
            ("NN",),
            """owner buyer seller maker builder designer inventor collector restorer keeper donor
            guardian importer manufacturer""",
        ),
        "name": (
            "PROPN",
            ("NNP",),
            """Maria Anna Peter Thomas Helen Oscar Clara Julia Martin Simon Laura Nora Victor
            Walter Hugo Emma Alice Bruno Felix Greta Ivan Karen Louis Miriam Nadia Otto Pablo Rosa
            Stella Tobias Ursula Wanda Yusuf Zelda Agnes Boris""",
        ),
        "thing": (
            "NOUN",
            ("NN",),
            """boat car house table chair wagon bicycle piano clock lamp tractor engine cupboard
            radio kettle cabin fence statue barrel basket bench bookcase bus caravan carpet cart
            chest coat couch desk drum guitar helicopter jacket kite ladder locker mattress
            motorcycle oven pump sculpture sledge sofa stove suitcase telephone tent trumpet""",
        ),
        "tool": (
            "NOUN",
            ("NN",),
            """hammer knife brush wrench saw shovel needle axe chisel screwdriver drill spanner rake
            hoe mallet file torch crowbar trowel razor sponge mop broom cloth ruler pencil crayon
            scalpel telescope microscope camera magnet grinder lever pickaxe spade sickle scythe
            pitchfork ladle spatula whisk duster paintbrush blowtorch sander clamp lathe""",
        ),
        "part": (
            "NOUN",
            ("NN",),
            """handle wheel roof door leg lid pedal hinge drawer mirror antenna seat saddle mast
            rudder anchor hook knob button zip sleeve collar pocket lining cushion armrest backrest
            shelf panel frame rim spout nozzle valve piston cylinder gearbox headlight bumper
            mudguard chimney balcony porch hatch keel dial pendulum""",
        ),
        "place": (
            "NOUN",
            ("NN",),
            """garden kitchen harbour market forest cellar garage attic barn courtyard valley
            station museum library park meadow orchard warehouse workshop basement corridor hallway
            bedroom lounge stable shed vineyard quarry canyon marsh prairie lagoon canal tunnel
            airport cemetery chapel monastery castle palace tavern bakery pharmacy""",
        ),
        "time": (
            "NOUN",
            ("NN",),
            """winter summer morning evening storm meeting war wedding festival strike afternoon
            autumn night week month decade century drought flood blizzard heatwave harvest holiday
            funeral concert election ceremony parade banquet dinner breakfast lunch interview
            lesson rehearsal carnival eclipse earthquake recession epidemic crisis siege truce
            armistice monsoon curfew""",
        ),
        "group": (
            "NOUN",
            ("NN",),
            """company school bank hospital hotel club firm factory university council church army
            airline college newspaper union agency embassy ministry orchestra theatre laboratory
            brewery""",
        ),
        "folk": (
            "NOUN",
            ("NNS",),
            """workers managers members leaders clerks guards drivers cleaners nurses doctors
            students players secretaries directors porters engineers chemists lawyers typists
            accountants advisers analysts apprentices architects assistants auditors butlers
            caretakers cashiers chaplains consultants delegates deputies editors employees experts
            founders gardeners inspectors instructors interns investors janitors lecturers
            mechanics messengers officers partners""",
        ),
        "beast": (
            "NOUN",
            ("NNS",),
            """horses dogs cows birds cats goats pigs ducks geese chickens lions monkeys parrots
            rabbits camels elephants donkeys wolves ponies bears zebras otters""",
        ),
        "goods": (
            "NOUN",
            ("NNS",),
            """books letters papers tickets coins shoes gloves stamps maps keys photographs medals
            parcels notebooks pens toys diaries essays certificates leaflets passports vouchers
            garments sandals trophies manuals coupons""",
        ),
        "city": (
            "PROPN",
            ("NNP",),
            """Paris Rome London Berlin Madrid Vienna Dublin Oslo Lisbon Prague Athens Cairo Tokyo
            Boston Chicago Denver Lyon Naples Geneva Hamburg Munich Zurich Krakow Seville Porto
            Bergen Ghent Antwerp Leipzig Turin Verona Tallinn Riga Vilnius Helsinki Nairobi Lima
            Quito Havana Montreal Toronto Delhi Mumbai Kyoto Osaka""",
        ),
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
