import TandemModel
import TandemQuery
import TandemWire

/// The graph after a group, as known from the context, the group and an answer from the daemon.
///
/// The reader can be used before and after the group's rows are merged, because rows of the group
/// take precedence.
struct GroupReader: GraphReader {
    let context: ManagedObjectContext
    /// The net changes of the group.
    var changes: ChangeTable
    /// The rows of an answer, which the context may not hold.
    var answered: [ObjectNumber: Row] = [:]
    /// Whether the answer is complete, so that an object without a row does not exist.
    var isAuthoritative = false

    init(_ context: ManagedObjectContext, _ changes: ChangeTable) {
        self.context = context
        self.changes = changes
    }

    func row(of object: ObjectReference) -> RowLookup {
        if let at = changes.index(of: object.number) {
            if let row = changes.all[at].row { return .row(row) }
            if changes.all[at].kind == .delete { return .missing }
        }
        let held = ContextReader(context: context).row(of: object)
        if case .row = held { return held }
        if let row = answered[object.number] { return .row(row) }
        if case .missing = held { return held }
        return isAuthoritative ? .missing : .unknown
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}

/// The graph before a group whose rows are merged; a changed object without an earlier row is
/// missing.
struct EarlierReader: GraphReader {
    let now: GroupReader
    let model: CompiledModel

    func row(of object: ObjectReference) -> RowLookup {
        if let change = now.changes[object.number], change.kind != .touch,
            let entity = model.entity(tagged: object.tag)
        {
            return change.rowBefore(in: entity).map { .row($0) } ?? .missing
        }
        return now.row(of: object)
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}

/// A reader that has only the rows of one answer.
struct AnswerReader: GraphReader {
    let rows: [ObjectNumber: Row]

    func row(of object: ObjectReference) -> RowLookup {
        rows[object.number].map { .row($0) } ?? .missing
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}
