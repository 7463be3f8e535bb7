/// Why something could not be done; the same codes in Swift, on the wire and in the bridge.
public struct TandemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    ///
    /// The raw values never change.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The request contradicts itself or the rules; change it.
        case usage
        /// No entity of that name.
        case unknownEntity
        /// No property of that name.
        case unknownProperty
        /// The predicate can't be parsed or does not fit the model.
        case invalidPredicate
        /// A sorted list was asked for without a sort descriptor.
        case noSortDescriptors
        /// A section name comes back after another one: the sort order does not lead with the sections.
        case outOfOrderSection
        /// Values break the rules of the model.
        case validation
        /// Others changed the same objects in the meantime.
        case conflict
        /// Another object has the same unique values.
        case uniqueness
        /// A delete rule `deny` stands in the way.
        case deleteDenied
        /// The object does not exist.
        case unknownObject
        /// No controller of that name is open.
        case unknownController
        /// The client's model does not fit the store's.
        case schemaMismatch
        /// The journal no longer reaches back to that position, or it is of another epoch or log.
        case historyExpired
        /// The peer's role does not allow it.
        case denied
        /// A named limit was reached.
        case limitExceeded
        /// It took longer than was allowed.
        case timeout
        /// The store takes no saves for now.
        case readOnly
        /// There is no connection to the daemon.
        case disconnected
        /// A save may or may not have happened; repeat it under its save id.
        case unknownOutcome
        /// The client gave the request up before it was answered; nothing happened.
        case cancelled
        /// The store or journal failed.
        case storage
        /// Edits of an object that could not be loaded when it was read: they may be computed from values that are not its own.
        case unreadable
    }

    /// What kind of failure it is.
    public var code: Code
    /// What happened, where, and what to do.
    public var message: String
    /// The offset in a predicate's text, with ``Code/invalidPredicate``.
    public var offset: Int?
    /// What is wrong with which object, with ``Code/validation`` and ``Code/uniqueness``.
    public var problems: [ValidationProblem] = []
    /// The objects concerned, with ``Code/conflict``.
    public var conflicts: [MergeConflict] = []
    /// What a batch had done before it failed, if it was one.
    public var done: BatchResult?
    /// Which row a batch insert failed at, counted from 0; all before it were inserted.
    public var row: Int?

    /// An error of a kind with its message.
    public init(_ code: Code, _ message: String, offset: Int? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// An error that lists what is wrong with which object; the message has the first ten.
    public init(_ code: Code, problems: [ValidationProblem]) {
        let shown = problems.prefix(10).map(\.description).joined(separator: "; ")
        let more = problems.count > 10 ? "; and \(problems.count - 10) more" : ""
        self.init(code, shown + more)
        self.problems = problems
    }

    /// The refusal to delete an object whose relationship of the rule `deny` still leads to others, one at least.
    public static func deleteDenied(
        _ object: ObjectID, by relationship: String, left: [ObjectID]
    ) -> TandemError {
        let first = left.first?.description ?? "others"
        let more = left.count > 1 ? " and \(left.count - 1) more" : ""
        return TandemError(
            .deleteDenied,
            "\(object) can't be deleted: its \(relationship) still has \(first)\(more)")
    }

    /// `code: message`.
    public var description: String { "\(code.rawValue): \(message)" }
}

/// A rule of the model that an object breaks.
public struct ValidationProblem: Hashable, Sendable, CustomStringConvertible {
    /// The object.
    public var object: ObjectID
    /// The property, if it is one.
    public var property: String?
    /// What is wrong and what is allowed.
    public var message: String

    /// A problem with an object.
    public init(object: ObjectID, property: String?, message: String) {
        self.object = object
        self.property = property
        self.message = message
    }

    /// `Team/3.wins: message`.
    public var description: String { "\(object)\(property.map { ".\($0)" } ?? ""): \(message)" }
}

/// An object that a save and the store disagree on.
public struct MergeConflict: Hashable, Sendable {
    /// The object.
    public var object: ObjectReference
    /// The version that the save was based on.
    public var baseVersion: UInt64
    /// The row in the store, nil when the object was deleted there.
    public var theirs: Row?
    /// The version of that row.
    public var theirsVersion: UInt64

    /// A conflict over an object.
    public init(
        object: ObjectReference, baseVersion: UInt64, theirs: Row?, theirsVersion: UInt64
    ) {
        self.object = object
        self.baseVersion = baseVersion
        self.theirs = theirs
        self.theirsVersion = theirsVersion
    }
}

/// What a save does where others changed the same objects.
public enum MergePolicy: UInt8, Hashable, Sendable, CaseIterable {
    /// The save fails and lists every conflict.
    case error
    /// Property by property; where both changed one, the store's value stays.
    case storeTrump
    /// Property by property; where both changed one, the save's value wins.
    case objectTrump
    /// The whole object of the save wins, unchanged properties included.
    case overwrite
    /// The save's changes of the objects in conflict are dropped.
    case rollback
}
