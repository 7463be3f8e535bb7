/// A word, sign or literal of a predicate's text, with its offset.
struct PredicateToken: Equatable {
    enum Kind: Equatable {
        /// A name or keyword; keywords are recognised by the parser.
        case word(String)
        /// A name written with `#`, which is never a keyword.
        case name(String)
        /// A variable, `$x`.
        case variable(String)
        /// The digits of a number, without sign.
        case number(String)
        /// A quoted text, unescaped.
        case text(String)
        /// An argument such as `%@`, represented by the character after `%`.
        case argument(UInt8)
        /// Punctuation and operators.
        case sign(String)
        /// A collection operator, without `@`.
        case aggregate(String)
        /// The end of the text.
        case end
    }

    var kind: Kind
    /// The offset in the predicate's text, in UTF-8 bytes.
    var offset: Int

    /// The keyword in upper case, if the token is a plain word.
    var keyword: String? {
        guard case .word(let text) = kind, text.utf8.count <= 15 else { return nil }
        return text.uppercased()
    }

    /// The token as shown in error messages.
    var shown: String {
        switch kind {
        case .word(let text), .name(let text), .number(let text), .sign(let text): "`\(text)`"
        case .variable(let text): "`$\(text)`"
        case .text(let text): "\"\(text.prefix(40))\""
        case .argument(let letter): "`%\(Character(Unicode.Scalar(letter)))`"
        case .aggregate(let text): "`@\(text)`"
        case .end: "the end"
        }
    }
}

/// The words that can't begin a key path unless they are written with `#`.
enum PredicateWords {
    static let reserved: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "BEGINSWITH",
        "CONTAINS", "ENDSWITH", "LIKE", "MATCHES", "NULL", "NIL", "SELF", "TRUE", "FALSE", "YES",
        "NO", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "CAST", "FUNCTION",
    ]
}
