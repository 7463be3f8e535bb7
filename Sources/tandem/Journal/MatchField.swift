import Tandem

/// The field of a `FIELD=VALUE` match.
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

    /// Returns the value in a transaction's header, or nil for fields of changes.
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

    /// Returns the values of a change; `entity` contains the object's entity and its superentities.
    func values(_ change: Change, _ names: TransactionNames) -> [String] {
        let tag = change.object.tag
        switch self {
        case .op: return [change.kind.word]
        case .object: return names.model(of: tag).map { ["\($0.id(of: change.object))"] } ?? []
        case .entity:
            let model = names.model(of: tag)
            return (model?.entity(tagged: tag)?.ancestors ?? [])
                .compactMap { model?.entity(tagged: $0)?.name }
        case .property:
            guard let entity = names.historical?.entity(tagged: tag), change.isValid(for: entity)
            else { return [] }
            return change.changed.flatMap { names.all(of: entity.properties[$0], in: entity) }
        default: return []
        }
    }

    /// Returns the reason why no transaction can have a value, whatever its model; nil if a
    /// transaction can have it.
    func refusal(of value: String) -> String? {
        switch self {
        case .op:
            let known = Change.Kind.words + ["model"]
            return known.contains(value)
                ? nil : "there is no op `\(value)`; the ops are \(known.joined(separator: ", "))"
        case .object:
            return ObjectID(value) == nil ? CommandFailure.notAnObjectID(value) : nil
        case .gid, .pid, .position, .uid:
            return UInt64(value) == nil ? "`\(value)` is not a \(rawValue); give a number" : nil
        case .author, .context, .entity, .property, .unit: return nil
        }
    }

    /// Returns every value that a transaction has for the field.
    func values(_ transaction: Transaction, _ model: CompiledModel?) -> [String] {
        if let value = value(transaction) { return value.isEmpty ? [] : [value] }
        if case .model = transaction.content { return self == .op ? ["model"] : [] }
        if self == .entity {
            return transaction.changes.compactMap {
                model?.entity(tagged: $0.object.tag)?.name
            }
        }
        return transaction.changes.flatMap { values($0, TransactionNames().with(model)) }
    }
}

/// `FIELD=VALUE` matches, combined as in journalctl.
///
/// Matches of one field are alternatives, matches of different fields must all hold, and `+`
/// separates alternative groups.
struct MatchGroups {
    /// The alternative groups, each with values by field.
    private(set) var groups: [[MatchField: Set<String>]] = []

    /// Parses the words of a command line; throws ``CommandFailure`` if a word is not a match.
    init(_ words: [String]) throws {
        guard !words.isEmpty else { return }
        for part in words.split(separator: "+", omittingEmptySubsequences: false) {
            var group: [MatchField: Set<String>] = [:]
            for word in part {
                let (field, value) = try Self.match(word)
                group[field, default: []].insert(value)
            }
            guard !group.isEmpty else {
                throw CommandFailure("+ must be between two matches; add the missing one", code: 2)
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

    /// Returns the values of a field in the only group; nil if the group has none, or if there are
    /// several groups.
    func only(_ field: MatchField) -> Set<String>? {
        groups.count == 1 ? groups[0][field] : nil
    }

    /// Returns the values of a field in all groups.
    func all(_ field: MatchField) -> Set<String> {
        groups.reduce(into: []) { $0.formUnion($1[field] ?? []) }
    }

    /// Returns whether a transaction matches one of the groups.
    ///
    /// A single change has to match all conditions of the group that concern changes.
    func matches(_ transaction: Transaction, _ names: TransactionNames) -> Bool {
        groups.isEmpty || groups.contains { matches($0, transaction, names) }
    }

    private func matches(
        _ group: [MatchField: Set<String>], _ transaction: Transaction, _ names: TransactionNames
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
