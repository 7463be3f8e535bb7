/// An error of Tandem; the codes are the same in Swift, on the wire and in the bridge.
public struct TandemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error.
    ///
    /// The raw values never change.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The request is invalid and has to be changed.
        case usage
        /// No entity has the given name.
        case unknownEntity
        /// No property has the given name.
        case unknownProperty
        /// The predicate can't be parsed or does not fit the model.
        case invalidPredicate
        /// A sorted list was requested without a sort descriptor.
        case noSortDescriptors
        /// A section name occurs again after another one, because the sort order does not begin
        /// with the section key.
        case outOfOrderSection
        /// Values violate the rules of the model.
        case validation
        /// Other clients have changed the same objects in the meantime.
        case conflict
        /// Another object has the same unique values.
        case uniqueness
        /// The delete rule `deny` prevents the deletion.
        case deleteDenied
        /// The object does not exist.
        case unknownObject
        /// No controller with the given name is open.
        case unknownController
        /// Another connection uses the same consumer name.
        case consumerInUse
        /// The client's model does not fit the store's.
        case schemaMismatch
        /// The journal no longer contains the position, or the position belongs to another epoch or
        /// log.
        case historyExpired
        /// The client's role does not allow the request.
        case denied
        /// A named limit was reached.
        case limitExceeded
        /// The request took longer than allowed.
        case timeout
        /// The store accepts no saves at present.
        case readOnly
        /// There is no connection to the daemon.
        case disconnected
        /// A save may or may not have been applied; repeat it with the same save id.
        case unknownOutcome
        /// The client cancelled the request before it was answered; nothing was changed.
        case cancelled
        /// The store or journal failed.
        case storage
        /// An edited object could not be loaded when it was read, so the edits may be based on
        /// wrong values.
        case unreadable
    }

    /// The kind of the error.
    public var code: Code
    /// A message that says what happened, where, and what to do.
    public var message: String
    /// The offset in a predicate's text, for ``Code/invalidPredicate``.
    public var offset: Int?
    /// The problems of objects, for ``Code/validation`` and ``Code/uniqueness``.
    public var problems: [ValidationProblem] = []
    /// The conflicting objects, for ``Code/conflict``.
    package var conflicts: [MergeConflict] = []
    /// The partial result of a failed batch; nil for other errors.
    public var done: BatchResult?
    /// The zero-based index of the row that made a batch insert fail; all rows before that row were
    /// inserted.
    public var row: Int?

    /// Creates an error with a message.
    public init(_ code: Code, _ message: String, offset: Int? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// Creates an error from problems of objects; the message lists the first ten.
    public init(_ code: Code, problems: [ValidationProblem]) {
        let shown = problems.prefix(10).map(\.description).joined(separator: "; ")
        let more = problems.count > 10 ? "; and \(problems.count - 10) more" : ""
        self.init(code, shown + more)
        self.problems = problems
    }

    /// Returns the error for the deletion of an object whose relationship with delete rule `deny`
    /// is not empty.
    ///
    /// `left` has at least one object.
    package static func deleteDenied(
        _ object: ObjectID, by relationship: String, left: [ObjectID]
    ) -> TandemError {
        let first = left.first?.description ?? "others"
        let more = left.count > 1 ? " and \(left.count - 1) more" : ""
        return TandemError(
            .deleteDenied,
            "\(object) cannot be deleted: its \(relationship) still has \(first)\(more)")
    }

    /// The error as `code: message`.
    public var description: String { "\(code.rawValue): \(message)" }
}

/// A violation of a model's rule by an object.
public struct ValidationProblem: Hashable, Sendable, CustomStringConvertible {
    /// The object.
    public var object: ObjectID
    /// The property, if the rule concerns one.
    public var property: String?
    /// The violation, and what is allowed.
    public var message: String

    /// Creates a problem of an object.
    public init(object: ObjectID, property: String?, message: String) {
        self.object = object
        self.property = property
        self.message = message
    }

    /// The problem on one line, such as `Team/3.wins: message`.
    public var description: String { "\(object)\(property.map { ".\($0)" } ?? ""): \(message)" }
}

/// An object whose versions in a save and in the store conflict.
package struct MergeConflict: Hashable, Sendable {
    /// The object.
    package var object: ObjectReference
    /// The version on which the save is based.
    package var baseVersion: UInt64
    /// The row in the store; nil if the object was deleted there.
    package var theirs: Row?
    /// The version of the row in the store.
    package var theirsVersion: UInt64

    /// Creates a conflict over an object.
    package init(
        object: ObjectReference, baseVersion: UInt64, theirs: Row?, theirsVersion: UInt64
    ) {
        self.object = object
        self.baseVersion = baseVersion
        self.theirs = theirs
        self.theirsVersion = theirsVersion
    }
}

/// The policy of a save for objects that other clients have changed.
public enum MergePolicy: UInt8, Hashable, Sendable, CaseIterable {
    /// The save fails and lists every conflict.
    case error
    /// Changes are merged by property; the store's value wins if both changed a property.
    case storeTrump
    /// Changes are merged by property; the save's value wins if both changed a property.
    case objectTrump
    /// All properties of the save's object win, including unchanged ones.
    case overwrite
    /// The save's changes of conflicting objects are dropped.
    case rollback
}
