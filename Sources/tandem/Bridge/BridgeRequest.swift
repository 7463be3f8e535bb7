import Tandem

/// The members of a request, or of an object in a request; reading an invalid member throws
/// `usage`.
struct BridgeRequest {
    /// The name of the request or object in error messages.
    let what: String
    let members: [String: JSON]

    /// Creates a request; throws if it has an unknown key.
    init(_ what: String, _ members: [String: JSON], keys: [String]) throws(TandemError) {
        self.what = what
        self.members = members
        for key in members.keys.sorted() where !keys.contains(key) {
            throw TandemError(
                .usage,
                "\(what) has an unknown key `\(key)`; the keys are \(keys.joined(separator: ", "))")
        }
    }

    /// Creates a request; throws if the value is not an object or has an unknown key.
    init(_ what: String, json: JSON, keys: [String]) throws(TandemError) {
        guard let members = json.object else {
            throw TandemError(.usage, "\(what) must be a JSON object, not \(json.text)")
        }
        try self.init(what, members, keys: keys)
    }

    /// The value of a key; nil if it is null or absent.
    subscript(key: String) -> JSON? { members[key].flatMap { $0 == .null ? nil : $0 } }

    /// Returns whether the key is present, even if its value is null.
    func has(_ key: String) -> Bool { members[key] != nil }

    func string(_ key: String) throws(TandemError) -> String? {
        try typed(key, "a string") { $0.string }
    }

    func bool(_ key: String) throws(TandemError) -> Bool? {
        try typed(key, "true or false") { $0.bool }
    }

    /// Returns the value of a key as a non-negative integer.
    func count(_ key: String) throws(TandemError) -> Int? {
        try typed(key, "a non-negative whole number") { json in
            json.int.flatMap { $0 < 0 ? nil : Int(exactly: $0) }
        }
    }

    /// Returns the value of a key as a duration in seconds.
    func seconds(_ key: String) throws(TandemError) -> Double? {
        try typed(key, "a non-negative number of seconds") { json in
            json.number.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
        }
    }

    func array(_ key: String) throws(TandemError) -> [JSON]? {
        try typed(key, "an array") { $0.array }
    }

    func object(_ key: String) throws(TandemError) -> [String: JSON]? {
        try typed(key, "an object") { $0.object }
    }

    /// Returns the value of a key as a list of names or key paths.
    func strings(_ key: String) throws(TandemError) -> [String]? {
        try typed(key, "an array of strings") { json in
            guard let array = json.array else { return nil }
            let strings = array.compactMap(\.string)
            return strings.count == array.count ? strings : nil
        }
    }

    /// Returns the value of a key; throws `usage` if it is nil.
    func required<Value>(_ key: String, _ value: Value?) throws(TandemError) -> Value {
        guard let value else { throw TandemError(.usage, "\(what) needs the key `\(key)`") }
        return value
    }

    private func typed<Value>(
        _ key: String, _ kind: String, _ read: (JSON) -> Value?
    ) throws(TandemError) -> Value? {
        guard let json = self[key] else { return nil }
        guard let value = read(json) else {
            throw TandemError(.usage, "`\(key)` of \(what) must be \(kind), not \(json.text)")
        }
        return value
    }
}
