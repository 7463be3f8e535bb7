import TandemModel
import TandemQuery
import TandemStore

extension FuzzTarget {
    /// Texts supplied by people and programs: lines of JSON, positions, ids, sort keys, manifests
    /// of backups.
    static let texts = FuzzTarget("texts", seeds: textSeeds) { input in
        let text = String(decoding: input, as: UTF8.self)
        try TextProperties.checkWords(text)
        try TextProperties.checkManifest(text)
        guard let json = try? JSON(parsing: text) else { return }
        guard let again = try? JSON(parsing: json.text) else {
            throw FuzzFinding("`\(json.text)` was printed and is not JSON")
        }
        try hold(
            TextProperties.isSame(json, again), "`\(json.text)` is read as `\(again.text)`")
        try TextProperties.checkValues(json)
        try TextProperties.checkSealed(json)
    }

    private static let examples = [
        #"{"id": 1, "do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "Ghana", "born": "2022-11-20T16:00:00Z"}}]}"#,
        #"{"id": "x", "do": "open", "sort": ["zone", "-wins", {"key": "name", "ascending": true}], "arguments": [{"object": "Team/7"}, null, 1.5e3]}"#,
        "Team/33", "-wins", "56@1-00000000-0000-0001-0000-000000000002",
        "2022-11-20T16:00:00.25+01:00",
        #"[0, -1, 9223372036854775807, 1e400, 0.1, "AP8B", "12.50", "01020304-0506-0708-0900-010203040506", true]"#,
        #"{"format": 1, "log": "00000000-0000-0001-0000-000000000002", "epoch": 1, "position": 3, "last": 5, "state": "00000000000000000000000000000000", "files": [{"name": "store/data.mdb", "bytes": 4096, "hash": "00000000000000000000000000000000"}]}"#,
        "-4888888888888004888.4588004888820",
        #""\u00e9\ud83c\udfc6\n\"\\""#, "00000000-0000-0001-0000-000000000002",
    ]

    @Sendable private static func textSeeds() -> [[UInt8]] { examples.map { Array($0.utf8) } }
}

/// The properties of texts: a parsed value prints as a text that parses to the same value.
enum TextProperties {
    static func checkWords(_ text: String) throws {
        try comesBack(ObjectID(text)) { ObjectID($0) }
        try comesBack(Position(text)) { Position($0) }
        try comesBack(LogID(text)) { LogID($0) }
        try comesBack(StableHash(text)) { StableHash($0) }
        guard let key = SortComponent(text) else { return }
        try hold(!key.keyPath.isEmpty, "a sort key without a property")
    }

    private static func comesBack<Word: CustomStringConvertible>(
        _ word: Word?, _ read: (String) -> Word?
    ) throws {
        guard let text = word?.description else { return }
        try hold(
            read(text)?.description == text, "`\(text)` was printed and parses to another value")
    }

    /// Checks that every value that can be read from JSON, as any type, prints as JSON that reads
    /// as the same value.
    static func checkValues(_ json: JSON, depth: Int = 0) throws {
        for type in AttributeType.allCases {
            guard let value = PropertyValue(json: json, type: type), !value.isNull else { continue }
            try hold(value.type == type, "\(json) was read as \(value), not of type \(type)")
            let printed = value.json
            try hold(
                PropertyValue(json: printed, type: type)?.json == printed,
                "\(value) was printed as \(printed) and parses to another value")
        }
        guard depth < 4 else { return }
        for part in json.array ?? json.object.map({ Array($0.values) }) ?? [] {
            try checkValues(part, depth: depth + 1)
        }
    }

    /// Returns whether two values are the same.
    ///
    /// A whole double may be read back as the integer that it is nearest to.
    static func isSame(_ a: JSON, _ b: JSON) -> Bool {
        switch (a, b) {
        case (.array(let a), .array(let b)):
            return a.count == b.count && zip(a, b).allSatisfy(isSame)
        case (.object(let a), .object(let b)):
            return a.count == b.count
                && a.allSatisfy { key, value in b[key].map { isSame(value, $0) } ?? false }
        case (.double(let a), .int(let b)): return Double(b) == a
        default: return a == b
        }
    }

    // MARK: Manifests

    static func checkManifest(_ text: String) throws {
        let manifest: BackupManifest
        do throws(StoreError) {
            manifest = try BackupManifest(parsing: text, path: "backup")
        } catch {
            return try hold(error.message.hasPrefix("backup"), "an error without the file")
        }
        let again = try? BackupManifest(parsing: manifest.text, path: "printed")
        try hold(again == manifest, "a manifest changes when it is written and read")
    }

    /// Checks the same for a manifest with a correct hash.
    static func checkSealed(_ json: JSON) throws {
        guard var members = json.object else { return }
        members["check"] = nil
        let hash = StableHash(Array(JSON.object(members).text.utf8))
        members["check"] = .string(hash.description)
        try checkManifest(JSON.object(members).text)
    }
}
