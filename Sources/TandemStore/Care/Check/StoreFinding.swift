public import TandemModel

/// Something in a store that contradicts the rest of it.
///
/// What follows from the rows comes with its repair. What the rows themselves lack or contradict has none: only the
/// journal knows better, and `tandem rebuild` asks it.
public struct StoreFinding: Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A key that has not the form of its table.
        case badKey
        /// A value that has not the form of its table.
        case badValue
        /// A row that can't be read with the model.
        case badRow
        /// A row changed after the position that the store stands at.
        case futureRow
        /// A derived attribute that is not what links and values say.
        case wrongDerived
        /// A number of a row that is not noted as used.
        case unnotedNumber
        /// The mark for the next number lies at or below one in use.
        case lowNumberMark
        /// A reference to an object that is not there.
        case danglingReference
        /// Two ends of a one-to-one relationship that do not name each other.
        case oneSidedReference
        /// A row without its entry in an index.
        case missingIndexEntry
        /// An entry of an index that no row has.
        case strayIndexEntry
        /// A row without its unique key.
        case missingUniqueKey
        /// A unique key that no row has.
        case strayUniqueKey
        /// Two rows with the same unique values.
        case duplicateUnique
        /// A member that is not in the range of its owner.
        case missingLink
        /// A link between objects that do not know of it.
        case strayLink
        /// A link that says another entity than the member has.
        case wrongLinkEntity
        /// A save id that no position leads to, or the reverse.
        case looseSave
        /// A floor of save ids above what the store has applied.
        case highSaveFloor
        /// A consumer that acknowledged what is not there.
        case futureConsumer
        /// A content that is said to stand in more or fewer rows than it does.
        case wrongBlobUses
        /// A content that rows stand for and that is missing or another.
        case missingBlob
        /// A content that nothing counts, or one noted as unused that is not.
        case strayBlob
    }

    /// A change that mends a finding.
    public enum Repair: Hashable, Sendable {
        /// Sets a key.
        case put(StoreTable, key: [UInt8], value: [UInt8])
        /// Removes a key.
        case delete(StoreTable, key: [UInt8])
        /// Raises the mark below which all numbers may be in use.
        case raiseNumbers(to: ObjectNumber)
        /// Lowers the position below which save ids are forgotten.
        case lowerSaveFloor(to: UInt64)
    }

    /// What is wrong.
    public var kind: Kind
    /// The table that it was found in.
    public var table: StoreTable
    /// The key that it was found at, or that is missing.
    public var key: [UInt8]
    /// The object that is concerned.
    public var object: ObjectID?
    /// The property or properties that are concerned.
    public var property: String?
    /// What was found and what was expected, without the place.
    public var message: String
    /// What mends it; empty when only the journal can.
    public var repairs: [Repair]

    init(
        _ kind: Kind, _ table: StoreTable, _ key: [UInt8], object: ObjectID? = nil,
        property: String? = nil, _ message: String, _ repairs: [Repair] = []
    ) {
        self.kind = kind
        self.table = table
        self.key = key
        self.object = object
        self.property = property
        self.message = message
        self.repairs = repairs
    }

    /// One line: the kind, where, what, and what to do.
    public var description: String {
        var text = "\(kind.rawValue): "
        if let object { text += property.map { "\(object) \($0): " } ?? "\(object): " }
        text += message + " (\(table.rawValue) \(StoreFinding.hex(key)))"
        return text + (repairs.isEmpty ? "; only `tandem rebuild` mends it" : "")
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { StoreKey.hex($0) } }
}

extension StoreFinding.Repair: CustomStringConvertible {
    /// What it does, one line.
    public var description: String {
        switch self {
        case .put(let table, let key, let value):
            "put \(table.rawValue) \(StoreFinding.hex(key)) \(StoreFinding.hex(value))"
        case .delete(let table, let key): "delete \(table.rawValue) \(StoreFinding.hex(key))"
        case .raiseNumbers(let number): "raise the mark of numbers to \(number)"
        case .lowerSaveFloor(let position): "lower the floor of save ids to \(position)"
        }
    }
}

/// What a walk over a store found.
public struct StoreReport: Hashable, Sendable {
    /// The most findings that one walk keeps.
    public static let findingsKept = 10_000

    /// The position that the store stood at.
    public var position: UInt64
    /// What is wrong, table by table, in the order of keys.
    public internal(set) var findings: [StoreFinding] = []
    /// How many findings there were, kept or not.
    public internal(set) var found = 0
    /// How many keys were looked at in each table.
    public internal(set) var walked: [StoreTable: Int] = [:]

    /// Whether nothing is wrong.
    public var isClean: Bool { found == 0 }

    /// The changes that mend what can be mended: removals first, so that a key may be put again.
    public var repairs: [StoreFinding.Repair] {
        var deletes: [StoreFinding.Repair] = []
        var others: [StoreFinding.Repair] = []
        var seen: Set<StoreFinding.Repair> = []
        for repair in findings.flatMap(\.repairs) where seen.insert(repair).inserted {
            if case .delete = repair { deletes.append(repair) } else { others.append(repair) }
        }
        return deletes + others
    }

    mutating func add(_ finding: StoreFinding) {
        found += 1
        if findings.count < Self.findingsKept { findings.append(finding) }
    }
}
