/// Counts for a bounded number of names; further names are counted together.
struct Tally<Counts> {
    /// The maximum number of names with counts of their own.
    let limit: Int
    /// The counts of each name.
    private(set) var named: [String: Counts] = [:]
    /// The counts of all names beyond the limit; nil if there are none.
    private(set) var others: Counts?
    private let zero: Counts

    /// Creates an empty tally; counts begin with `zero`.
    init(limit: Int, zero: Counts) { (self.limit, self.zero) = (limit, zero) }

    /// Changes the counts of a name.
    mutating func update(_ name: String, _ change: (inout Counts) -> Void) {
        let zero = zero
        if named[name] != nil || named.count < limit {
            change(&named[name, default: zero])
        } else {
            change(&others[or: zero])
        }
    }

    /// Changes all counts.
    mutating func all(_ change: (inout Counts) -> Void) {
        let zero = zero
        for name in named.keys { change(&named[name, default: zero]) }
        if others != nil { change(&others[or: zero]) }
    }
}

extension Optional {
    /// The wrapped value, or a default if it is nil.
    fileprivate subscript(or value: Wrapped) -> Wrapped {
        get { self ?? value }
        set { self = newValue }
    }
}
