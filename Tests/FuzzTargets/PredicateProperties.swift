import TandemModel
import TandemQuery

/// The properties of predicates and of requests with them.
enum PredicateProperties {
    /// Checks that a parsed predicate prints as a text that parses to the same predicate.
    static func checkText(_ predicate: ObjectPredicate) throws {
        let text = predicate.description
        let again: ObjectPredicate
        do throws(TandemError) {
            again = try ObjectPredicate(format: text)
        } catch {
            // A predicate near the limit may be nested slightly deeper when printed than as
            // written.
            if error.code == .limitExceeded { return }
            throw FuzzFinding("`\(text)` was printed and does not parse: \(error)")
        }
        try hold(again.description == text, "`\(text)` prints as `\(again.description)`")
        try hold(bytes(again) == bytes(predicate), "`\(text)` parses to something else")
    }

    private static func bytes(_ predicate: ObjectPredicate) -> [UInt8] {
        var writer = ByteWriter()
        predicate.tree.encode(into: &writer)
        return writer.bytes
    }

    /// Checks the binary form, and that the request's answers are consistent if it fits the
    /// sample's model.
    static func check(_ request: FetchDescriptor) throws {
        try checkCoding(request)
        let graph = try SampleGraph.get()
        guard let compiled = try? CompiledRequest(request, in: graph.model) else { return }
        var opposite = request
        opposite.predicate = request.predicate.map { !$0 } ?? ObjectPredicate(.constant(false))
        let negated = try? CompiledRequest(opposite, in: graph.model)
        for object in graph.objects {
            guard let row = graph.rows[object] else { continue }
            try check(compiled, negated, object, row, graph)
        }
    }

    private static func checkCoding(_ request: FetchDescriptor) throws {
        var writer = ByteWriter()
        request.encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        guard let again = try? FetchDescriptor(from: &reader), reader.isAtEnd else {
            throw FuzzFinding("an encoded request cannot be decoded")
        }
        var second = ByteWriter()
        again.encode(into: &second)
        try hold(second.bytes == writer.bytes, "a request changes when it is encoded and decoded")
    }

    private static func check(
        _ request: CompiledRequest, _ negated: CompiledRequest?, _ object: ObjectReference,
        _ row: Row, _ graph: SampleGraph
    ) throws {
        let matches = request.matches(object, row, graph)
        _ = request.sortKey(object, row, graph)
        _ = request.section(object, row, graph)
        guard let matches, request.includes(tag: row.tag) else { return }
        if let other = negated?.matches(object, row, graph) {
            try hold(other == !matches, "a predicate and its opposite agree on \(object)")
        }
        guard matches, let entity = graph.model.entity(tagged: row.tag) else { return }
        for constraint in request.constraints {
            try hold(
                holds(constraint, row, entity),
                "\(object) matches but violates \(constraint), so a planner would miss it")
        }
    }

    // MARK: Constraints

    /// Returns whether a planner that uses a constraint would find a row.
    private static func holds(
        _ constraint: SlotConstraint, _ row: Row, _ entity: CompiledEntity
    ) -> Bool {
        let value = row.uncheckedValue(constraint.slot, in: entity)
        switch constraint.condition {
        case .equals(let wanted): return key(value) == key(wanted)
        case .anyOf(let values): return values.contains { key($0) == key(value) }
        case .prefix(let text):
            return row.withBytes(constraint.slot, in: entity) { $0.starts(with: text.utf8) }
                ?? false
        case .range(let lower, let upper):
            guard !value.isNull else { return false }
            return (lower.map { isOrdered(key($0.value), key(value), $0.inclusive) } ?? true)
                && (upper.map { isOrdered(key(value), key($0.value), $0.inclusive) } ?? true)
        }
    }

    private static func key(_ value: PropertyValue) -> [UInt8] {
        var encoder = KeyEncoder()
        encoder.append(value)
        return encoder.bytes
    }

    private static func isOrdered(_ a: [UInt8], _ b: [UInt8], _ inclusive: Bool) -> Bool {
        a.lexicographicallyPrecedes(b) || inclusive && a == b
    }
}
