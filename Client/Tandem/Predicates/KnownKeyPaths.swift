import TandemIO

/// Where key paths lead that were followed before, so that a predicate that is made for every look-up does not find it out anew.
///
/// What a key path leads along depends on nothing but itself. Those of one program are few; where it makes more than ``most``, all are
/// forgotten.
enum KnownKeyPaths {
    /// So many are remembered.
    static let most = 1_024

    /// A key path as a key.
    ///
    /// `@unchecked`: it never changes, and what a subscript in it captured is only compared and hashed, under the lock.
    private struct Key: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
    }

    private struct Known {
        var all: [Key: KeyPathTrace.Path] = [:]
        /// The same by which object the key path is, which for one that is written down stays the same: quicker to look up than what it is made of.
        ///
        /// Each is held, so that none of these objects is ever another key path.
        var objects: [ObjectIdentifier: (key: Key, path: KeyPathTrace.Path)] = [:]
    }

    private static let known = Locked(Known())

    /// Where a key path leads; nil if it was not noted.
    static subscript(path: AnyKeyPath) -> KeyPathTrace.Path? {
        known.withLock { known in
            if let found = known.objects[ObjectIdentifier(path)] { return found.path }
            guard let found = known.all[Key(path: path)] else { return nil }
            if known.objects.count >= most { known.objects.removeAll() }
            known.objects[ObjectIdentifier(path)] = (Key(path: path), found)
            return found
        }
    }

    /// Notes where a key path leads.
    static func note(_ path: AnyKeyPath, _ found: KeyPathTrace.Path) {
        known.withLock { known in
            if known.all.count >= most { known.all.removeAll() }
            known.all[Key(path: path)] = found
        }
    }
}
