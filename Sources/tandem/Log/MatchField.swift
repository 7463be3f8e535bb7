import Tandem

/// What a `FIELD=VALUE` match can ask about.
enum MatchField: String, CaseIterable {
    case author
    case context
    case entity
    case gid
    case object
    case op
    case pid
    case position
    case property
    case uid
    case unit

    /// The value of a transaction's header; nil for fields that changes have.
    func value(_ transaction: Transaction) -> String? {
        let principal = transaction.principal
        switch self {
        case .author: return principal.author
        case .context: return principal.context
        case .gid: return "\(principal.gid)"
        case .pid: return "\(principal.pid)"
        case .position: return "\(transaction.position)"
        case .uid: return "\(principal.uid)"
        case .unit: return principal.unit
        case .entity, .object, .op, .property: return nil
        }
    }

    /// The values that a change has; an object's entity is the most derived one and those it inherits from.
    func values(_ change: Change, _ names: NewestNames) -> [String] {
        let tag = change.object.tag
        switch self {
        case .op: return [change.kind.word]
        case .object: return names.model(of: tag).map { ["\($0.id(of: change.object))"] } ?? []
        case .entity:
            let model = names.model(of: tag)
            return (model?.entity(tagged: tag)?.ancestors ?? [])
                .compactMap { model?.entity(tagged: $0)?.name }
        case .property:
            guard let entity = names.ofItsTime?.entity(tagged: tag), change.isValid(for: entity)
            else { return [] }
            return change.changed.flatMap { names.all(of: entity.properties[$0], in: entity) }
        default: return []
        }
    }

    /// Why no transaction can have a value, whatever the model; nil where one may.
    func refusal(of value: String) -> String? {
        switch self {
        case .op:
            let known = Change.Kind.words + ["model"]
            return known.contains(value)
                ? nil : "there is no op `\(value)`; there is \(known.joined(separator: ", "))"
        case .object:
            return ObjectID(value) == nil ? "`\(value)` is no object; give ENTITY/NUMBER" : nil
        case .gid, .pid, .position, .uid:
            return UInt64(value) == nil ? "`\(value)` is no \(rawValue); give a number" : nil
        case .author, .context, .entity, .property, .unit: return nil
        }
    }

    /// Every value that a transaction has.
    func values(_ transaction: Transaction, _ model: CompiledModel?) -> [String] {
        if let value = value(transaction) { return value.isEmpty ? [] : [value] }
        if case .model = transaction.content { return self == .op ? ["model"] : [] }
        if self == .entity {
            return transaction.changes.compactMap {
                model?.entity(tagged: $0.object.tag)?.name
            }
        }
        return transaction.changes.flatMap { values($0, NewestNames().beside(model)) }
    }
}

/// `FIELD=VALUE` matches as journalctl joins them: of one field any, of several all, and `+` between alternatives.
struct MatchGroups {
    /// Alternatives, each by field.
    private(set) var groups: [[MatchField: Set<String>]] = []

    /// Reads the words of a command line; throws ``CommandFailure``.
    init(_ words: [String]) throws {
        guard !words.isEmpty else { return }
        for part in words.split(separator: "+", omittingEmptySubsequences: false) {
            var group: [MatchField: Set<String>] = [:]
            for word in part {
                let (field, value) = try Self.match(word)
                group[field, default: []].insert(value)
            }
            guard !group.isEmpty else {
                throw CommandFailure("+ stands between matches; one is missing", code: 2)
            }
            groups.append(group)
        }
    }

    private static func match(_ word: String) throws -> (MatchField, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let field = MatchField(rawValue: String(parts[0])) else {
            let isPosition = UInt64(word) != nil || Position(word) != nil
            throw CommandFailure(
                isPosition
                    ? "`\(word)` is a position; `tandem log show \(word)` shows its transaction"
                    : "`\(word)` is not FIELD=VALUE; FIELD is one of "
                        + MatchField.allCases.map(\.rawValue).joined(separator: ", "), code: 2)
        }
        if let reason = field.refusal(of: String(parts[1])) {
            throw CommandFailure(reason, code: 2)
        }
        return (field, String(parts[1]))
    }

    /// The values that the only alternative asks for in a field; nil where there is none, or several alternatives.
    func only(_ field: MatchField) -> Set<String>? {
        groups.count == 1 ? groups[0][field] : nil
    }

    /// The values of a field in all alternatives.
    func all(_ field: MatchField) -> Set<String> {
        groups.reduce(into: []) { $0.formUnion($1[field] ?? []) }
    }

    /// Whether a transaction meets one of the alternatives; what an alternative says of changes one change has to meet.
    func meets(_ transaction: Transaction, _ names: NewestNames) -> Bool {
        groups.isEmpty || groups.contains { meets($0, transaction, names) }
    }

    private func meets(
        _ group: [MatchField: Set<String>], _ transaction: Transaction, _ names: NewestNames
    ) -> Bool {
        var ofChanges: [MatchField: Set<String>] = [:]
        for (field, wanted) in group {
            guard let value = field.value(transaction) else {
                ofChanges[field] = wanted
                continue
            }
            guard wanted.contains(value) else { return false }
        }
        if ofChanges.isEmpty { return true }
        if case .model = transaction.content {
            return ofChanges.count == 1 && (ofChanges[.op]?.contains("model") ?? false)
        }
        return transaction.changes.contains { change in
            ofChanges.allSatisfy { field, wanted in
                field.values(change, names).contains { wanted.contains($0) }
            }
        }
    }
}
