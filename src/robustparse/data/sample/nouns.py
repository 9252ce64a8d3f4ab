"""The nouns of the embedded sample treebank, by lexical class; see `sample_words`."""

from types import MappingProxyType

NOUNS = MappingProxyType(
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
    }
)
"""Nouns: class -> (UPOS, Penn tags, words)."""
