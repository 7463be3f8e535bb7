package import TandemModel

/// An inconsistency found in a store.
///
/// A finding whose correction follows from the rows has a repair. A row that is missing or
/// contradictory has no repair: it can only be restored from the journal, with `tandem rebuild`.
package struct StoreFinding: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a finding.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A key with an invalid format for its table.
        case badKey
        /// A value with an invalid format for its table.
        case badValue
        /// A row that can't be read with the model.
        case badRow
        /// A row changed after the store's position.
        case futureRow
        /// A derived attribute that differs from the value computed from links and values.
        case wrongDerived
        /// A row whose number isn't recorded as used, or is recorded for another entity.
        case unnotedNumber
        /// A high-water mark that isn't above all numbers in use.
        case lowNumberMark
        /// A reference to an object that doesn't exist.
        case danglingReference
        /// Two ends of a one-to-one relationship that do not refer to each other.
        case oneSidedReference
        /// A row without its entry in an index.
        case missingIndexEntry
        /// An index entry without a matching row.
        case strayIndexEntry
        /// A row without its unique key.
        case missingUniqueKey
        /// A unique key without a matching row.
        case strayUniqueKey
        /// Two rows with the same unique values.
        case duplicateUnique
        /// A member without a link from its owner.
        case missingLink
        /// A link between objects that don't refer to each other.
        case strayLink
        /// A link whose entity is not its member's.
        case wrongLinkEntity
        /// A save id without an entry for its position, or vice versa.
        case looseSave
        /// A save-id floor above the applied position.
        case highSaveFloor
        /// A consumer that acknowledged a position after the store's.
        case futureConsumer
        /// A use count that differs from the blob's number of uses in rows.
        case wrongBlobUses
        /// A blob that rows use, but that is missing or doesn't match its hash.
        case missingBlob
        /// A blob without a use count, or wrongly listed as unused.
        case strayBlob
    }

    /// A change that repairs a finding.
    package enum Repair: Hashable, Sendable {
        /// Sets a key.
        case put(StoreTable, key: [UInt8], value: [UInt8])
        /// Removes a key.
        case delete(StoreTable, key: [UInt8])
        /// Raises the high-water mark of object numbers.
        case raiseNumbers(to: ObjectNumber)
        /// Lowers the position below which save ids are no longer known.
        case lowerSaveFloor(to: UInt64)
    }

    /// The kind of the finding.
    package var kind: Kind
    /// The table of the finding.
    package var table: StoreTable
    /// The key of the finding, which may be missing from the table.
    package var key: [UInt8]
    /// The affected object.
    package var object: ObjectID?
    /// The name of the affected property or properties.
    package var property: String?
    /// The observed and the expected state, without the table and the key.
    package var message: String
    /// The changes that repair the finding; empty if only a rebuild from the journal can repair it.
    package var repairs: [Repair]

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

    /// One line with the kind, the location, the message, and a remedy.
    package var description: String {
        var text = "\(kind.rawValue): "
        if let object { text += property.map { "\(object) \($0): " } ?? "\(object): " }
        text += message + " (\(table.rawValue) \(StoreFinding.hex(key)))"
        return text + (repairs.isEmpty ? "; only `tandem rebuild` repairs this" : "")
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { StoreKey.hex($0) } }
}

extension StoreFinding.Repair: CustomStringConvertible {
    /// One line that describes the repair.
    package var description: String {
        switch self {
        case .put(let table, let key, let value):
            "put \(table.rawValue) \(StoreFinding.hex(key)) \(StoreFinding.hex(value))"
        case .delete(let table, let key): "delete \(table.rawValue) \(StoreFinding.hex(key))"
        case .raiseNumbers(let number): "raise the high-water mark of numbers to \(number)"
        case .lowerSaveFloor(let position): "lower the floor of save ids to \(position)"
        }
    }
}

/// The result of a check of the store.
package struct StoreReport: Hashable, Sendable {
    /// The maximum number of findings in one report.
    package static let findingsKept = 10_000

    /// The position of the checked store.
    package var position: UInt64
    /// The findings, by table, in key order.
    package internal(set) var findings: [StoreFinding] = []
    /// The number of findings, including those beyond ``findingsKept``.
    package internal(set) var found = 0
    /// The number of keys read in each table.
    package internal(set) var keysRead: [StoreTable: Int] = [:]

    /// Whether there were no findings.
    package var isClean: Bool { found == 0 }

    /// The repairs of all findings, removals first, so that a removed key can be set again.
    package var repairs: [StoreFinding.Repair] {
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
        assert(findings.count == min(found, Self.findingsKept), "The first findings are kept.")
    }
}
