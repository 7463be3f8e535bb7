import Tandem

/// The canonical form of a save's ops, whose hash identifies a retry.
///
/// Aliases of the same save are replaced by the ordinals of its inserts, so that names of aliases
/// and leased object numbers do not affect the hash. Aliases of other saves are replaced by the ids
/// of their objects. In the value of an attribute, `$` is an ordinary character.
struct SaveContent {
    private let model: CompiledModel?
    private let known: (String) -> ObjectID?
    /// The aliases of this save, each with the ordinal and entity of its insert.
    private var own: [String: (ordinal: Int64, entity: String)] = [:]
    private var inserts: Int64 = 0

    /// Returns the hash of ops; `known` returns the object of an alias that another save bound.
    static func hash(
        _ ops: [JSON], _ model: CompiledModel?, known: @escaping (String) -> ObjectID?
    ) -> StableHash {
        var content = SaveContent(model, known)
        let neutral = ops.map { content.neutral($0) }
        return StableHash(Array(JSON.array(neutral).text.utf8))
    }

    private init(_ model: CompiledModel?, _ known: @escaping (String) -> ObjectID?) {
        self.model = model
        self.known = known
    }

    private mutating func neutral(_ op: JSON) -> JSON {
        guard var members = op.object else { return op }
        members["as"] = nil
        for verb in ["update", "delete"] { members[verb] = members[verb].map(object) }
        let entity = op["insert"]?.string ?? op["update"].flatMap { self.entity(of: $0) }
        for key in ["set", "add", "remove"] {
            guard let values = members[key]?.object else { continue }
            let pairs = values.map { name, value in
                (name, isAttribute(name, of: entity) ? value : objects(value))
            }
            members[key] = .object(Dictionary(pairs, uniquingKeysWith: { $1 }))
        }
        if op["insert"] != nil {
            inserts += 1
            if let alias = op["as"]?.string { own[alias] = (inserts, entity ?? "") }
        }
        return .object(members)
    }

    private func isAttribute(_ name: String, of entity: String?) -> Bool {
        let property = entity.flatMap { model?.entity(named: $0)?.property(named: name) }
        return property.map { $0.relationship == nil } ?? false
    }

    private func entity(of json: JSON) -> String? {
        guard let text = json.string else { return nil }
        guard let alias = Self.alias(text) else { return ObjectID(text)?.entity }
        return own[alias]?.entity ?? known(alias)?.entity
    }

    private func objects(_ json: JSON) -> JSON {
        json.array.map { .array($0.map(object)) } ?? object(json)
    }

    private func object(_ json: JSON) -> JSON {
        guard let alias = json.string.flatMap(Self.alias) else { return json }
        if let own = own[alias] { return .array([.int(own.ordinal)]) }
        return known(alias).map { JSON($0) } ?? json
    }

    private static func alias(_ text: String) -> String? {
        text.utf8.first == UInt8(ascii: "$") ? String(text.dropFirst()) : nil
    }
}
