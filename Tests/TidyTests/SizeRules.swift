/// The rules on the size of types: a type has one job, and state that others can't change.
///
/// A type's size is that of its declaration and of its extensions in the same module, comments
/// included.
enum SizeRules {
    /// The largest number of lines of a type.
    static let lines = 700
    /// The largest number of files over which a type is spread.
    static let files = 8
    /// The largest number of stored properties of a type.
    static let properties = 15
    /// The largest number of a class's variables that other types can change.
    static let openVariables = 5

    /// A limit and the types that exceed it, each with the reason.
    ///
    /// The lists may only get shorter: a type that no longer exceeds the limit must be removed.
    struct Limit {
        let name: String
        let value: Int
        let known: [String: String]
        let measure: (Size) -> Int
    }

    static var limits: [Limit] {
        [
            Limit(
                name: "lines", value: lines,
                known: [
                    "Client/Tandem ManagedObjectContext":
                        "the public methods of a context, one line each below their documentation"
                ], measure: \.lines),
            Limit(name: "files", value: files, known: [:], measure: \.files.count),
            Limit(
                name: "stored properties", value: properties,
                known: [
                    "Client/Tandem ClientLimits": "one property for each setting",
                    "Daemon/TandemDaemon DaemonLimits": "one property for each setting",
                    "Sources/TandemModel CompiledEntity": "constant tables, compiled once",
                ], measure: \.properties),
            Limit(
                name: "variables that others can change", value: openVariables,
                known: [
                    "Sources/TandemIO SimulatedFileSystem":
                        "a fake whose faults and capacity tests set"
                ], measure: \.openVariables),
        ]
    }

    /// The size of a type.
    struct Size: Hashable {
        var lines = 0
        var files: Set<String> = []
        /// The stored properties of instances.
        var properties = 0
        /// The variables of a class that are not private, nor private to set.
        var openVariables = 0
    }

    /// Returns the sizes of all top-level types of the package, by module and name.
    static func sizes(_ files: [SourceFile]) -> [String: Size] {
        var sizes: [String: Size] = [:]
        for file in files where !file.isTest {
            let module = file.path.split(separator: "/").prefix(2).joined(separator: "/")
            var index = 0
            while index < file.code.count {
                guard let (type, isClass, isExtension) = type(in: file.code[index]) else {
                    index += 1
                    continue
                }
                let end = end(of: index, in: file.code)
                let key = "\(module) \(type)"
                sizes[key, default: Size()].lines += end - index + 1
                sizes[key]?.files.insert(file.path)
                if !isExtension {
                    for line in file.code[index...end] {
                        guard let property = storedProperty(in: line) else { continue }
                        sizes[key]?.properties += 1
                        if isClass, property == .open { sizes[key]?.openVariables += 1 }
                    }
                }
                index = end + 1
            }
        }
        return sizes
    }

    /// Returns a finding for each type above a limit, and for each listed type that is no longer
    /// above it.
    static func findings(_ sizes: [String: Size], _ limits: [Limit] = limits) -> [Finding] {
        limits.flatMap { limit -> [Finding] in
            let above = sizes.filter { limit.measure($0.value) > limit.value }
            let new = above.filter { limit.known[$0.key] == nil }.sorted { $0.key < $1.key }.map {
                Finding(
                    path: $0.key,
                    message: "has \(limit.measure($0.value)) \(limit.name), more than "
                        + "\(limit.value); give a part of its work to another type")
            }
            let gone = limit.known.keys.filter { above[$0] == nil }.sorted().map {
                Finding(
                    path: $0,
                    message: "has at most \(limit.value) \(limit.name) now; remove the exception")
            }
            return new + gone
        }
    }

    // MARK: Lines

    /// Returns the type that a line declares or extends at the top level.
    static func type(
        in line: String
    ) -> (name: String, isClass: Bool, isExtension: Bool)? {
        if let name = FolderRules.declaredType(line) {
            let words = line.split(separator: " ")
            return (name, words.contains("class"), false)
        }
        guard let first = line.first, first != " " else { return nil }
        let words = line.split(separator: " ").drop { $0 != "extension" }
        guard let second = words.dropFirst().first else { return nil }
        let name = second.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        return name.isEmpty ? nil : (String(name), false, true)
    }

    /// Returns the last line of the declaration that begins in a line.
    private static func end(of start: Int, in code: [String]) -> Int {
        if code[start].hasSuffix("{}") || code[start].hasSuffix(" }") { return start }
        return code[start...].firstIndex { $0.hasPrefix("}") } ?? code.count - 1
    }

    enum Property { case constant, closed, open }

    /// Returns the kind of stored property that a line declares, or nil if it declares none.
    static func storedProperty(in line: String) -> Property? {
        guard line.hasPrefix("    "), let first = line.dropFirst(4).first, first != " " else {
            return nil
        }
        var words = line.split(separator: " ")[...]
        var isClosed = false
        while let word = words.first,
            word.hasPrefix("@") || modifiers.contains(where: word.hasPrefix)
        {
            isClosed = isClosed || word.hasPrefix("private") || word.hasPrefix("fileprivate")
            words.removeFirst()
        }
        guard let keyword = words.first, keyword == "var" || keyword == "let" else { return nil }
        // A brace that follows no initial value opens the body of a computed property.
        if let brace = line.firstIndex(of: "{"), !line[..<brace].contains("=") {
            if !line.contains("didSet"), !line.contains("willSet") { return nil }
        }
        if keyword == "let" { return .constant }
        return isClosed ? .closed : .open
    }

    private static let modifiers = [
        "public", "package", "internal", "fileprivate", "private", "final", "weak", "unowned",
        "nonisolated", "lazy", "override",
    ]
}
