"""Little words, which a sentence needs but which say nothing about its topic. English and German, without accents."""

from typing import Final

LITTLE_WORDS: Final = frozenset(
    """
    a about after again all also am an and any are aren as at be because been before being but by can cannot could did
    didn do does doesn doing don done down each few for from got had has have having he her here him his how i if in
    into is isn it its just let ll made me might more most my no nor not now of off on once only or other our out over
    own please re s same say said shall she should so some such t than that the their them then there these they thing
    things this those through to too under until up us use used ve very was wasn way we were what when where which
    while who whom whose why will with would you your yours tell know remember recall remind earlier previously last
    ago ever yet

    aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des die dies diese
    diesem diesen dieser dir doch du durch ein eine einem einen einer eines er es euch fur hab habe haben hat hatte
    hatten hier ich ihm ihn ihr im ist ja kann kein keine konnen machen mal mein mit muss nach nicht noch nur ob oder
    ohne schon sein sich sie sind so uber um und uns unser vom von vor wann war waren warum was weil welche welcher
    welches wenn wer wie wieder wieso wir wird wo wurde wurden zu zum zur
    """.split()
)
"""Little words, except those that are commands too, such as `make` and `find`."""
