"""The grammar of the built-in sample treebank: head-driven rules, written as text.

A line is `PARENT weight: child child ...`. Upper-case children are phrases, lower-case children
lexical classes (`words`). Every child except the head has a dependency label, `/label`. `!` marks a
decisive slot: the attachment depends on the class of its word (a tool after "with" modifies the
verb, a part the noun). Such slots contain mostly frequent words, so that a parser can learn them.
Rare words appear in other slots, where all words with the same tag are parsed in the same way.
"""

RULES = """
TOP 50: HARD stop/punct
TOP 4: EASY stop/punct
TOP 10: HARD BECAUSE/advcl stop/punct
TOP 9: HARD ANDEASY/conj stop/punct
TOP 9: EASY ANDHARD/conj stop/punct
TOP 8: SUBJ/nsubj claus THATHARD/ccomp stop/punct
TOP 5: TIMEPP/obl comma/punct HARD stop/punct
TOP 5: SPOTPP/obl comma/punct HARD stop/punct

BECAUSE 1: because/mark EASY
ANDEASY 1: comma/punct and/cc EASY
ANDHARD 1: comma/punct and/cc HARD
THATHARD 1: that/mark HARD
TIMEPP 1: during/case det/det time
SPOTPP 1: beside/case det/det SPOT
SPOT 1: tool
SPOT 1: part
SPOT 1: place

SUBJ 6: she
SUBJ 3: name
SUBJ 4: det/det person
SUBJ 1: poss/nmod:poss person
SUBJ 2: det/det mood/amod person
HER 4: them
HER 3: name
HER 2: det/det person
HER 1: poss/nmod:poss person
FOLK 2: dets/det folk
FOLK 1: dets/det mood/amod folk
GROUP 3: det/det group
GROUP 1: det/det adj/amod group
OBJ 4: det/det thing
OBJ 2: det/det adj/amod thing
OBJ 1: poss/nmod:poss thing
ANY 2: det/det NOUN
ANY 1: det/det adj/amod NOUN
ANY 1: det/det GRADED/amod NOUN
ANY 1: poss/nmod:poss NOUN
NOUN 4: tool
NOUN 4: part
NOUN 4: place
NOUN 3: time
NOUN 1: thing
GRADED 1: degree/advmod adj

HARD 3: SUBJ/nsubj trans OBJ/obj TOOLPP/obl
HARD 3: SUBJ/nsubj trans PARTED/obj
HARD 3: SUBJ/nsubj trans OBJ/obj EVENTPP/obl
HARD 3: SUBJ/nsubj trans PLACED/obj
HARD 6: GROUP/nsubj habit! dual.NN/obj
HARD 3: GROUP/nsubj habit! dual.NN/obj EVENTPP/obl
HARD 6: TEAM/nsubj dual.VBP
HARD 3: TEAM/nsubj dual.VBP EVENTPP/obl
HARD 11: HANDLING/csubj psych HER/obj
HARD 11: ROAMERS/nsubj psych HER/obj
HARD 12: SUBJ/nsubj like HANDLING/xcomp
HARD 12: SUBJ/nsubj like ROAMERS/obj
HARD 10: SUBJ/nsubj ditr! RECEIVER/iobj goods/obj
HARD 10: SUBJ/nsubj trans! OWNED/obj
HARD 9: SUBJ/nsubj claus! FOLKDID/ccomp
HARD 9: SUBJ/nsubj trans! FOLKDONE/obj
HARD 1: SUBJ/nsubj go CITYPP/obl
HARD 1: SUBJ/nsubj go PURPOSE/advcl
HARD 4: SUBJ/nsubj go CITYPP/obl WITHWHOM/obl
HARD 4: SUBJ/nsubj go PURPOSEWITH/advcl
HARD 3: WHENTRANS/advcl folk/nsubj intr
HARD 3: WHENINTR/advcl TEAM/nsubj intr
HARD 2: SUBJ/nsubj trans PAIRHIGH/obj
HARD 2: SUBJ/nsubj trans PAIRLOW/obj
HARD 2: SUBJ/nsubj like RELHIGH/obj
HARD 2: SUBJ/nsubj like RELLOW/obj
HARD 2: SUBJ/nsubj stay GRADEDMOOD/xcomp
HARD 2: SUBJ/nsubj stay often!/advmod mood/xcomp
HARD 2: SUBJ/nsubj trans GRADEDTHING/obj
HARD 2: SUBJ/nsubj trans BIGTHING/obj

TOOLPP 2: with/case det/det tool!
TOOLPP 1: with/case poss/nmod:poss tool!
TOOLPP 1: with/case det/det adj/amod tool!
PARTPP 2: with/case det/det part!
PARTPP 1: with/case poss/nmod:poss part!
PARTPP 1: with/case det/det adj/amod part!
EVENTPP 1: at/case det/det time!
PLACEPP 1: at/case det/det place!
PARTED 1: det/det thing PARTPP/nmod
PARTED 1: det/det adj/amod thing PARTPP/nmod
PLACED 1: det/det thing PLACEPP/nmod
PLACED 1: det/det adj/amod thing PLACEPP/nmod
TEAM 3: det/det group/compound folk!
TEAM 1: det/det adj/amod group/compound folk!
HANDLING 3: handle! beast/obj
HANDLING 1: handle! WILD/obj
ROAMERS 3: roam!/amod beast
ROAMERS 1: roam!/amod mood/amod beast
WILD 1: mood/amod beast
RECEIVER 1: det/det person
OWNED 1: det/det person/compound goods
FOLKDID 1: dets/det folk/nsubj erg.VBD NEARPP/obl
FOLKDONE 1: dets/det folk DONE/acl
DONE 1: erg.VBN NEARPP/obl
NEARPP 1: near/case city
CITYPP 1: toadp/case city!
PURPOSE 1: toinf/mark inf!
WITHWHOM 1: with/case name
PURPOSEWITH 1: toinf/mark inf! WITHWHOM/obl
WHENTRANS 1: when/mark SUBJ/nsubj trans! GROUP/obj
WHENINTR 1: when/mark SUBJ/nsubj intr!
PAIRHIGH 1: det/det owner OFTHING/nmod ANDPERSON/conj
PAIRLOW 1: det/det owner OFTHINGAND/nmod
OFTHING 1: of/case det/det thing
OFTHINGAND 1: of/case det/det thing ANDTHING/conj
ANDPERSON 1: and/cc det/det person!
ANDTHING 1: and/cc det/det thing!
RELHIGH 1: det/det owner OFTHING/nmod WHOINTR/acl:relcl
RELLOW 1: det/det owner OFBROKEN/nmod
OFBROKEN 1: of/case det/det thing THATWEAR/acl:relcl
WHOINTR 1: rel/nsubj intr!
THATWEAR 1: rel/nsubj wear!
GRADEDMOOD 1: degree!/advmod mood
GRADEDTHING 1: det/det GRADEDHARD/amod thing
GRADEDHARD 1: degree!/advmod adj
BIGTHING 1: det/det adj!/amod adj/amod thing

EASY 5: ANY/nsubj psych HER/obj
EASY 4: SUBJ/nsubj trans ANY/obj
EASY 8: SUBJ/nsubj ditr ANY/obj
EASY 6: SUBJ/nsubj claus ANY/obj
EASY 6: GROUP/nsubj habit ANY/obj
EASY 4: SUBJ/nsubj often/advmod intr
EASY 2: FOLK/nsubj intr NEARPP/obl
EASY 2: GROUP/nsubj habit FOLK/obj
EASY 7: OBJ/nsubj wear
EASY 3: SUBJ/nsubj was/cop degree/advmod mood
EASY 3: SUBJ/nsubj was/cop often/advmod mood
EASY 13: BEASTS/nsubj were/aux BUSY
EASY 8: SUBJ/nsubj modal/aux inf
EASY 3: SUBJ/nsubj intr NEARPP/obl
BEASTS 1: dets/det beast
BUSY 1: handle
BUSY 1: roam
"""
