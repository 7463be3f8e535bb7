import TandemModel
import TandemQuery

/// Finds the objects that match a request and were changed by a save, using only the content of the
/// save.
struct SaveMatcher: Sendable {
    let request: CompiledRequest

    init(_ request: CompiledRequest) { self.request = request }

    /// Creates a matcher for a model.
    ///
    /// Throws `usage` if the predicate reads more than an object's own values.
    init(_ declaration: FetchDescriptor, in model: CompiledModel) throws(TandemError) {
        request = try CompiledRequest(declaration, in: model)
        guard !request.predicateUsesRelated else {
            throw TandemError(
                .usage,
                "the predicate of an observer or of a sequence of saves can use only an object's own values"
            )
        }
    }

    /// Returns the changes of a save to objects that match before or after it.
    ///
    /// `row` returns the row of an object that was only touched. If it is unknown whether an object
    /// matches, its change is included. This concerns touched objects without a row, and conditions
    /// on strings that are too long for a row.
    func match(
        _ payload: SavePayload, row: (ObjectReference) -> Row? = { _ in nil }
    ) -> ObservedSave {
        var result = ObservedSave(payload: payload)
        for change in payload.transaction.changes where request.includes(tag: change.object.tag) {
            guard let entity = request.model.entity(tagged: change.object.tag) else { continue }
            let id = request.model.id(of: change.object)
            func update(_ before: Bool, _ after: Bool) {
                guard before || after else { return }
                result.updated.append(
                    .init(object: id, changed: change.names(entity), before: before, after: after))
            }
            switch change.kind {
            case .insert: if matches(change, change.row) { result.inserted.append(id) }
            case .delete: if matches(change, change.deleted) { result.deleted.append(id) }
            case .touch:
                let isMatch = mayMatch(change, row)
                update(isMatch, isMatch)
            case .update:
                update(matches(change, change.rowBefore(in: entity)), matches(change, change.row))
            }
        }
        return result
    }

    private func matches(_ change: Change, _ row: Row?) -> Bool {
        row.map { request.matches(change.object, $0, RowOnlyReader()) ?? true } ?? false
    }

    private func mayMatch(_ change: Change, _ row: (ObjectReference) -> Row?) -> Bool {
        guard request.request.predicate != nil, let row = row(change.object) else { return true }
        return matches(change, row)
    }
}

/// The rows of touched objects at the time of the touch, if the transactions merged together
/// contain them.
struct TouchedRows {
    private var touched: Set<ObjectNumber> = []
    private var rows: [ObjectNumber: Row] = [:]

    /// Creates the rows as they were before the first transaction, in time linear in the number of
    /// changes.
    init(_ transactions: [Transaction], _ request: CompiledRequest) {
        guard transactions.count > 1, request.request.predicate != nil else { return }
        let changes = transactions.lazy.flatMap(\.changes)
        for change in changes
        where change.kind == .touch && request.includes(tag: change.object.tag) {
            touched.insert(change.object.number)
        }
        guard !touched.isEmpty else { return }
        for change in changes where touched.contains(change.object.number) {
            guard rows[change.object.number] == nil else { continue }
            rows[change.object.number] = request.model.entity(tagged: change.object.tag)
                .flatMap { change.rowBefore(in: $0) }
        }
    }

    /// Returns the row of an object, or nil if none of the transactions changes it.
    subscript(object: ObjectReference) -> Row? { rows[object.number] }

    /// Advances the rows past a transaction.
    mutating func pass(_ transaction: Transaction) {
        guard !touched.isEmpty else { return }
        for change in transaction.changes where touched.contains(change.object.number) {
            if let row = change.row { rows[change.object.number] = row }
        }
    }
}

extension Change {
    /// Returns the names of the changed properties, in slot order.
    func names(_ entity: CompiledEntity) -> [String] {
        changed.slots.filter { $0 < entity.properties.count }.map { entity.properties[$0].name }
    }
}

/// A reader that holds no objects, for predicates that need only the row.
private struct RowOnlyReader: GraphReader {
    func row(of object: ObjectReference) -> RowLookup { .unknown }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}
