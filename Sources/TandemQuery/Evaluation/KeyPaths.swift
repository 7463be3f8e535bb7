import TandemModel

/// A resolver for the key paths of sort orders, sections and refreshes.
enum KeyPaths {
    /// The maximum number of names in a key path, limited because following each name takes a stack
    /// frame.
    static let maximumHops = 64

    static func sort(
        _ keys: [SortComponent], _ resolver: inout PathResolver
    ) throws(TandemError) -> [(path: CompiledPath, key: SortComponent)] {
        var result: [(path: CompiledPath, key: SortComponent)] = []
        for key in keys {
            let path = try single(key.keyPath, .sort, "sorted by", &resolver)
            if key.selector != .compare, !path.type.isText {
                throw invalid(
                    "\(key.selector.name) needs text, and `\(key.keyPath)` is \(path.type.name)")
            }
            result.append((path, key))
        }
        return result
    }

    static func section(
        _ keyPath: String?, _ resolver: inout PathResolver
    ) throws(TandemError) -> CompiledPath? {
        guard let keyPath else { return nil }
        let path = try single(keyPath, .section, "divided into sections by", &resolver)
        if path.type == .object || path.type == .attribute(.data) {
            throw invalid("sections need an attribute whose value can be a name, not `\(keyPath)`")
        }
        return path
    }

    static func refresh(
        _ keyPaths: [String], _ resolver: inout PathResolver
    ) throws(TandemError) -> [CompiledPath] {
        var result: [CompiledPath] = []
        for keyPath in keyPaths { result.append(try resolver.path(names(keyPath), .refresh)) }
        return result
    }

    private static func single(
        _ keyPath: String, _ usage: ObservedPath.Usage, _ what: String,
        _ resolver: inout PathResolver
    ) throws(TandemError) -> CompiledPath {
        let path = try resolver.path(names(keyPath), usage)
        if path.isToMany {
            throw invalid(
                "objects cannot be \(what) `\(keyPath)`, which refers to many objects; use to-one "
                    + "relationships and attributes only")
        }
        return path
    }

    /// Splits a key path into names; the result is never empty.
    ///
    /// An empty key path is split into one empty name, which no property has.
    private static func names(_ keyPath: String) -> [String] {
        keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    private static func invalid(_ message: String) -> TandemError {
        TandemError(.invalidPredicate, message, offset: 0)
    }
}
