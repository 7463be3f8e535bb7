import TandemDaemon
import TandemModel
import TandemStore

extension FuzzTarget {
    /// Models: a binary one after a byte 1, one as JSON, or two JSON models separated by a zero
    /// byte, the second of which replaces the first.
    static let models = FuzzTarget("models", seeds: modelSeeds) { input in
        if input.first == 1 {
            return _ = try ModelProperties.check(binary: Array(input.dropFirst()))
        }
        let texts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let first = try ModelProperties.check(text: texts[0]), texts.count > 1,
            let second = try ModelProperties.check(text: texts[1])
        else { return }
        try ModelProperties.check(change: first, to: second)
    }

    private static let small = #"{"entities": {"A": {"attributes": {"n": {"type": "int"}}}}}"#

    private static let modelTexts = [
        small,
        #"{"entities": {"A": {"attributes": {"n": {"type": "int", "default": 1, "min": 0, "max": 9}}}}}"#,
        #"{"entities": {"A": {"attributes": {"s": {"type": "string", "optional": false, "default": "a", "values": ["a", "b"]}, "d": {"type": "decimal", "default": "1.5"}}, "uniqueness": [["s"]], "indexes": [["d", "s"]]}, "B": {"parent": "A"}}}"#,
        #"{"entities": {"A": {"relationships": {"bs": {"to": "B", "inverse": "a", "toMany": true, "deleteRule": "cascade"}}}, "B": {"relationships": {"a": {"to": "A", "inverse": "bs", "optional": false}}}}}"#,
        #"{"entities": {"A": {"attributes": {"m": {"type": "int", "renamedFrom": "n"}, "u": {"type": "uuid", "default": "01020304-0506-0708-0900-010203040506"}, "t": {"type": "date", "default": 12}}}}}"#,
        #"{"entities": {"A": {"attributes": {"n": {"type": "string", "pattern": "x*"}}, "relationships": {"a": {"to": "A", "inverse": "a", "toMany": true, "ordered": true}}}}}"#,
    ]

    @Sendable private static func modelSeeds() -> [[UInt8]] {
        let pairs = modelTexts.map { Array(small.utf8) + [0] + Array($0.utf8) }
        var sample = ByteWriter()
        SampleGraph.shared?.model.encode(into: &sample)
        return modelTexts.map { Array($0.utf8) } + pairs + [[1] + sample.bytes]
    }
}

/// The properties of models.
enum ModelProperties {
    /// Checks that a parsed model prints as a text that parses to the same model, and compiles to
    /// valid layouts.
    static func check(text: String) throws -> CompiledModel? {
        let model: ManagedObjectModel
        do throws(ModelError) {
            model = try ManagedObjectModel(parsing: text)
        } catch {
            try hold(!error.problems.isEmpty, "a refusal without a problem")
            return nil
        }
        guard let again = try? ManagedObjectModel(parsing: model.json.text) else {
            throw FuzzFinding("a printed model is refused: \(model.json.text)")
        }
        try hold(again.json.text == model.json.text, "it prints as \(again.json.text)")
        try hold(again.hash == model.hash, "the hash changes when a model is printed and parsed")
        guard let compiled = try? CompiledModel(model) else { return nil }
        try check(compiled)
        return compiled
    }

    static func check(binary: [UInt8]) throws -> CompiledModel? {
        var reader = ByteReader(binary)
        guard let model = try? CompiledModel(from: &reader) else { return nil }
        try check(model)
        return model
    }

    private static func check(_ model: CompiledModel) throws {
        var writer = ByteWriter()
        model.encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        guard let again = try? CompiledModel(from: &reader), reader.isAtEnd else {
            throw FuzzFinding("an encoded model cannot be decoded")
        }
        var second = ByteWriter()
        again.encode(into: &second)
        try hold(
            second.bytes == writer.bytes, "a compiled model changes when it is encoded and decoded")
        let tags = model.entities.map(\.tag)
        try hold(Set(tags).count == tags.count && !tags.contains(0), "tags \(tags)")
        for entity in model.entities {
            try checkDefaults(of: entity, model)
            try hold(model.entity(tagged: entity.tag) === entity, "\(entity.name) is not found")
        }
    }

    /// Checks that a row of the defaults can be written, and has the declared values.
    private static func checkDefaults(of entity: CompiledEntity, _ model: CompiledModel) throws {
        for (property, value) in zip(entity.properties, entity.defaults) where !property.isToMany {
            try hold(
                property.accepts(value), "\(entity.name).\(property.name) has the default \(value)")
        }
        let row = Row(entity.defaults, of: entity, version: model.version)
        try hold(row.isValid(for: entity), "a row of defaults of \(entity.name) is not valid")
        try RowProperties.check(row, entity)
    }

    // MARK: Changes

    /// Checks that a model which may replace another one keeps its numbers and can adopt its rows.
    static func check(change first: CompiledModel, to second: CompiledModel) throws {
        try hold(
            first.model.differences(to: first.model).isEmpty, "a model differs from itself")
        let differences = first.model.differences(to: second.model)
        for difference in differences {
            try hold(ModelDifference(json: difference.json) == difference, "\(difference)")
        }
        try check(adopting: second.model, by: first.model)
        guard differences.allSatisfy({ $0.effect != .impossible }),
            let compiled = try? CompiledModel(second.model, replacing: first)
        else { return }
        let numbers = compiled.identifiers.values
        try hold(Set(numbers).count == numbers.count, "two elements have the same number")
        let renames = ModelRenames(from: first.model, to: second.model)
        for entity in first.entities {
            let name = renames.entities[entity.name] ?? entity.name
            guard let later = compiled.entity(named: name) else { continue }
            try hold(later.tag == entity.tag, "\(name) got another number")
            try check(entity, becomes: later, compiled)
        }
    }

    /// Checks that adopted properties exist, and that adopting them again changes nothing.
    private static func check(adopting declared: ManagedObjectModel, by store: ManagedObjectModel)
        throws
    {
        let merged = store.adopting(declared)
        try hold(declared.missing(in: merged).isEmpty, "an adopted element is missing")
        try hold(merged.adopting(declared) == merged, "adopting a model twice changes it")
    }

    private static func check(
        _ old: CompiledEntity, becomes new: CompiledEntity, _ model: CompiledModel
    ) throws {
        let migration = RowMigration(from: old, to: new)
        let values = migration.values(of: Row(old.defaults, of: old, version: 1))
        for (property, value) in zip(new.properties, values) where !property.isToMany {
            try hold(
                property.accepts(value), "\(new.name).\(property.name) would take over \(value)")
        }
        let row = Row(values, of: new, version: model.version)
        try hold(row.isValid(for: new), "an adopted row is not valid")
    }
}
