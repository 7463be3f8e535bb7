import Tandem

extension ImportMap {
    /// Parses a map.
    ///
    /// Throws ``CommandFailure`` with the first problem and its location; unknown keys are
    /// problems, so that typos are found.
    init(parsing text: String, path: String) throws {
        let json: JSON
        do {
            json = try JSON(parsing: text)
        } catch {
            throw CommandFailure("\(path) is not JSON", code: 2)
        }
        if let key = RepeatedKey.find(in: text) {
            throw CommandFailure("\(path) has `\(key)` twice in one object; remove one", code: 2)
        }
        do throws(Problem) {
            let map = try Members(json, "the map", ["files", "null"])
            let nulls = try map.texts("null")
            let files = try Members(map["files"] ?? .null, "`files`", nil)
            tables = try files.sorted.map { name, json throws(Problem) in
                try Table(name, json, nulls)
            }
        } catch {
            throw CommandFailure("\(path): \(error.message)", code: 2)
        }
        guard !tables.isEmpty else {
            throw CommandFailure("\(path) names no files; list them by name in `files`", code: 2)
        }
    }

    /// A problem in a map.
    fileprivate struct Problem: Error {
        var message: String
    }

    /// The members of a JSON object in which all keys are known.
    fileprivate struct Members {
        let place: String
        private let members: [String: JSON]

        init(_ json: JSON, _ place: String, _ known: [String]?) throws(Problem) {
            guard let members = json.object else {
                throw Problem(message: "\(place) must be a JSON object")
            }
            self.members = members
            self.place = place
            guard let known else { return }
            for key in members.keys.sorted() where !known.contains(key) {
                let names = known.joined(separator: ", ")
                throw Problem(
                    message: "\(place) has an unknown key `\(key)`; the keys are \(names)")
            }
        }

        subscript(key: String) -> JSON? { members[key] }
        var sorted: [(String, JSON)] { members.sorted { $0.key < $1.key } }

        func text(_ key: String) throws(Problem) -> String? {
            guard let json = members[key] else { return nil }
            guard let text = json.string else {
                throw Problem(message: "`\(key)` of \(place) must be a string")
            }
            return text
        }

        func texts(_ key: String) throws(Problem) -> Set<String> {
            guard let json = members[key] else { return [] }
            let texts = json.array?.compactMap(\.string)
            guard let texts, texts.count == json.array?.count else {
                throw Problem(message: "`\(key)` of \(place) must be an array of strings")
            }
            return Set(texts)
        }

        func object(_ key: String) throws(Problem) -> Members {
            try Members(members[key] ?? .object([:]), "`\(key)` of \(place)", nil)
        }

        func problem(_ message: String) -> Problem { Problem(message: "\(place) \(message)") }
    }
}

extension ImportMap.Table {
    fileprivate init(
        _ name: String, _ json: JSON, _ nulls: Set<String>
    ) throws(ImportMap.Problem) {
        let members = try ImportMap.Members(
            json, name, ["entity", "attributes", "relationships", "null", "delimiter"])
        guard let entity = try members.text("entity") else {
            throw members.problem("needs `entity`, the entity of its rows")
        }
        self.init(name: name, entity: entity)
        self.nulls = members["null"] == nil ? nulls : try members.texts("null")
        if let text = try members.text("delimiter") {
            guard let byte = text.utf8.first, text.utf8.count == 1, !"\"\r\n".utf8.contains(byte)
            else { throw members.problem("needs one ASCII character as `delimiter`") }
            delimiter = byte
        }
        for (key, json) in try members.object("attributes").sorted {
            attributes[key] = try ImportMap.Source(json, "\(key) of \(name)")
        }
        for (key, json) in try members.object("relationships").sorted {
            links.append(try ImportMap.Link(key, json, "\(key) of \(name)"))
        }
    }
}

extension ImportMap.Source {
    fileprivate init(_ json: JSON, _ place: String) throws(ImportMap.Problem) {
        if let column = json.string {
            self = .column(column, values: [:], nulls: nil)
            return
        }
        let parts = ImportMap.DatePart.allCases.map(\.rawValue)
        let members = try ImportMap.Members(
            json, place, ["column", "null", "value", "values", "partial"] + parts)
        switch (members["value"], try members.text("column")) {
        case (let value?, nil): self = .constant(value)
        case (nil, let column?):
            var values: [String: JSON] = [:]
            for (text, value) in try members.object("values").sorted { values[text] = value }
            self = .column(
                column, values: values,
                nulls: members["null"] == nil ? nil : try members.texts("null"))
        case (nil, nil): self = .date(try Self.parts(members), partial: try Self.partial(members))
        default: throw members.problem("has both `column` and `value`; remove one")
        }
    }

    private static func partial(
        _ members: ImportMap.Members
    ) throws(ImportMap.Problem) -> ImportMap.Partial {
        let kinds = ImportMap.Partial.allCases.map(\.rawValue)
        guard let partial = ImportMap.Partial(rawValue: try members.text("partial") ?? "reject")
        else { throw members.problem("needs one of \(kinds.joined(separator: ", ")) as `partial`") }
        return partial
    }

    private static func parts(
        _ members: ImportMap.Members
    ) throws(ImportMap.Problem) -> [ImportMap.DatePart: String] {
        var parts: [ImportMap.DatePart: String] = [:]
        for part in ImportMap.DatePart.allCases {
            parts[part] = try members.text(part.rawValue)
        }
        guard parts[.year] != nil else {
            throw members.problem("needs a `column`, a `value`, or the `year` of a date")
        }
        guard parts[.time] == nil || (parts[.hour] == nil && parts[.minute] == nil) else {
            throw members.problem("has both `time` and `hour` or `minute`; remove one")
        }
        return parts
    }
}

extension ImportMap.Link {
    fileprivate init(_ name: String, _ json: JSON, _ place: String) throws(ImportMap.Problem) {
        let members = try ImportMap.Members(json, place, ["by", "missing"])
        let by = try members.object("by").sorted
        guard by.count == 1, let (key, column) = by.first, let column = column.string else {
            throw members.problem(
                "needs `by`: one attribute of its destination and the column with the attribute's value"
            )
        }
        let kinds = ImportMap.Missing.allCases.map(\.rawValue)
        guard let missing = ImportMap.Missing(rawValue: try members.text("missing") ?? "reject")
        else {
            throw members.problem("needs one of \(kinds.joined(separator: ", ")) as `missing`")
        }
        self.init(name: name, key: key, column: column, missing: missing)
    }
}
