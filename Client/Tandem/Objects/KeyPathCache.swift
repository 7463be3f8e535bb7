import TandemIO

/// A cache of the property names of key paths, so that each key path is traced only once.
///
/// The names depend on the key path alone. A program has few key paths; if it has more than
/// ``most``, the cache is cleared.
enum KeyPathCache {
    /// The maximum number of cached key paths.
    static let most = 1_024

    /// A key path as a dictionary key.
    ///
    /// `@unchecked`: a key path never changes, and the captured values of its subscripts are only
    /// compared and hashed, under the lock.
    private struct Key: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
    }

    private struct Known {
        var all: [Key: KeyPathRecorder.Path] = [:]
        /// The same entries by the identity of the key path object.
        ///
        /// A key-path literal is always the same object, and looking up its identity is faster than
        /// hashing its components. Each key path is retained, so that its identity can't be reused.
        var objects: [ObjectIdentifier: (key: Key, path: KeyPathRecorder.Path)] = [:]
    }

    private static let known = Locked(Known())

    /// Returns the names of a key path, or nil if they are not cached.
    static subscript(path: AnyKeyPath) -> KeyPathRecorder.Path? {
        known.withLock { known in
            if let found = known.objects[ObjectIdentifier(path)] { return found.path }
            guard let found = known.all[Key(path: path)] else { return nil }
            if known.objects.count >= most { known.objects.removeAll() }
            known.objects[ObjectIdentifier(path)] = (Key(path: path), found)
            return found
        }
    }

    /// Caches the names of a key path.
    static func store(_ path: AnyKeyPath, _ found: KeyPathRecorder.Path) {
        known.withLock { known in
            if known.all.count >= most { known.all.removeAll() }
            known.all[Key(path: path)] = found
        }
    }
}
