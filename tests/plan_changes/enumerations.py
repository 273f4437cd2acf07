"""Enumerations and their members."""

from plan_changes.change import Change

ENUM = "class Colour(enum.Enum):\n    A = 1\n    B = 2\n"
INT_ENUM = "class Level(enum.IntEnum):\n    A = 1\n    B = 2\n"
STR_ENUM = "class Word(enum.StrEnum):\n    A = 'a'\n    B = 'b'\n"
FLAG = "class Bits(enum.Flag):\n    A = 1\n    B = 2\n"

CHANGES = [
    # enumerations
    Change("__str__ of an enum", ENUM, "f'{Colour.A}'", "Colour.__str__ = lambda self: 'q'"),
    Change("str() of an enum", ENUM, "str(Colour.A)", "Colour.__str__ = lambda self: 'q'"),
    Change("repr() of an enum", ENUM, "repr(Colour.A)", "Colour.__repr__ = lambda self: 'q'"),
    Change(
        "__format__ of an enum",
        ENUM,
        "format(Colour.A, '')",
        "Colour.__format__ = lambda self, spec: 'q'",
    ),
    Change(
        "__eq__ of an enum",
        ENUM,
        "Colour.A == Colour.B",
        "Colour.__eq__ = lambda self, other: True",
    ),
    Change(
        "__eq__ of an enum, in a list",
        ENUM,
        "Colour.A in [Colour.B]",
        "Colour.__eq__ = lambda self, other: True",
    ),
    Change(
        "__eq__ of an enum, as key",
        ENUM,
        "len({Colour.A: 1, Colour.B: 2})",
        "Colour.__eq__ = lambda self, other: True; Colour.__hash__ = lambda self: 1",
    ),
    Change(
        "__hash__ of an enum, in a dict",
        ENUM + "d = {Colour.A: 1.0}",
        "d[Colour.A]",
        "Colour.__hash__ = lambda self: 1",
        whole=False,
    ),
    Change(
        "__hash__ of an enum, in a set",
        ENUM,
        "len({Colour.A, Colour.B})",
        "Colour.__eq__ = lambda self, other: True; Colour.__hash__ = lambda self: 1",
    ),
    Change(
        "hash() of an enum",
        ENUM,
        "hash(Colour.A) == 1",
        "Colour.__hash__ = lambda self: 1",
        whole=False,
    ),
    Change("__bool__ of an enum", ENUM, "bool(Colour.A)", "Colour.__bool__ = lambda self: False"),
    Change(
        "truth of an enum", ENUM, "1.0 if Colour.A else 2.0", "Colour.__bool__ = lambda self: False"
    ),
    Change(
        "__add__ of an int enum",
        INT_ENUM,
        "Level.A + Level.B",
        "Level.__add__ = lambda self, other: 100",
    ),
    Change(
        "__radd__ of an int enum",
        INT_ENUM,
        "1 + Level.B",
        "Level.__radd__ = lambda self, other: 100",
    ),
    Change(
        "__lt__ of an int enum",
        INT_ENUM,
        "Level.A < Level.B",
        "Level.__lt__ = lambda self, other: False",
    ),
    Change(
        "__index__ of an int enum",
        INT_ENUM,
        "[1.0, 2.0, 3.0][Level.A]",
        "Level.__index__ = lambda self: 2",
    ),
    Change("__neg__ of an int enum", INT_ENUM, "-Level.A", "Level.__neg__ = lambda self: 100"),
    Change(
        "int() of an int enum",
        INT_ENUM,
        "int(Level.A)",
        "Level.__int__ = lambda self: 100",
        whole=False,
    ),
    Change(
        "__len__ of a str enum",
        STR_ENUM,
        "len(Word.A)",
        "Word.__len__ = lambda self: 100",
        whole=False,
    ),
    Change(
        "__add__ of a str enum",
        STR_ENUM,
        "Word.A + Word.B",
        "Word.__add__ = lambda self, other: 'q'",
    ),
    Change(
        "upper() of a str enum",
        STR_ENUM,
        "Word.A.upper()",
        "Word.upper = lambda self: 'q'",
        whole=False,
    ),
    Change(
        "a str enum in text",
        STR_ENUM,
        "f'{Word.A}'",
        "Word.__format__ = lambda self, spec: 'q'",
    ),
    Change(
        "a str enum joined",
        STR_ENUM,
        "'-'.join([Word.A, Word.B])",
        "Word.__str__ = lambda self: 'q'",
        whole=False,
    ),
    Change("__or__ of a flag", FLAG, "Bits.A | Bits.B", "Bits.__or__ = lambda self, other: 100"),
    Change(
        "__contains__ of a flag",
        FLAG,
        "Bits.A in (Bits.A | Bits.B)",
        "Bits.__contains__ = lambda self, other: False",
    ),
    Change("_value_ of an enum", ENUM, "Colour.A.value", "Colour.A._value_ = 4.0"),
    Change("_name_ of an enum", ENUM, "Colour.A.name", "Colour.A._name_ = 'Q'"),
    Change(
        "_missing_ of an enum",
        ENUM,
        "Colour(1).value",
        "Colour._missing_ = classmethod(lambda cls, v: Colour.B)",
    ),
    Change("members of an enum", ENUM, "[m.value for m in Colour]", "Colour.A._value_ = 7"),
    Change(
        "method of an enum",
        "class Colour(enum.Enum):\n    A = 1\n    def m(self): return self.value * 2",
        "Colour.A.m()",
        "Colour.m = lambda self: 50",
    ),
    Change(
        "a member's attribute", ENUM, "getattr(Colour.A, 'extra', None)", "Colour.A.extra = 1.0"
    ),
    Change(
        "__iter__ of the enum's metaclass",
        "class Meta(enum.EnumMeta): pass\nclass Colour(enum.Enum, metaclass=Meta):\n    A = 1\n    B = 2",
        "[m.value for m in Colour]",
        "Meta.__iter__ = lambda cls: iter(())",
    ),
    Change(
        "__len__ of the enum's metaclass",
        "class Meta(enum.EnumMeta): pass\nclass Colour(enum.Enum, metaclass=Meta):\n    A = 1\n    B = 2",
        "len(Colour)",
        "Meta.__len__ = lambda cls: 7",
    ),
    Change(
        "__getitem__ of the enum's metaclass",
        "class Meta(enum.EnumMeta): pass\nclass Colour(enum.Enum, metaclass=Meta):\n    A = 1\n    B = 2",
        "Colour['A'].value",
        "Meta.__getitem__ = lambda cls, name: cls.B",
    ),
]
