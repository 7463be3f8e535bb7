import Algorithms

extension Leaf {
    /// Returns the index of the row with a number, found without comparing keys; nil if none.
    @inline(__always)
    func position(of number: UInt64) -> Int? {
        let wanted = UInt32(truncatingIfNeeded: number)
        // Every second lane is an end offset, which is masked so that it never equals the number.
        let eight = SIMD16<UInt32>(
            wanted, 0, wanted, 0, wanted, 0, wanted, 0, wanted, 0, wanted, 0, wanted, 0, wanted, 0)
        return entries.withUnsafeBufferPointer { entries in
            let bytes = UnsafeRawBufferPointer(entries)
            var at = 0
            while at &+ 8 <= entries.count {
                let lanes = bytes.loadUnaligned(fromByteOffset: at &* 8, as: SIMD16<UInt32>.self)
                if any((lanes | Leaf.ends) .== eight) { break }
                at &+= 8
            }
            while at < entries.count {
                if entries[at].low == wanted, self.number(at) == number { return at }
                at &+= 1
            }
            return nil
        }
    }

    /// A mask with all ones in the lanes of end offsets.
    private static let ends = SIMD16<UInt32>(
        0, .max, 0, .max, 0, .max, 0, .max, 0, .max, 0, .max, 0, .max, 0, .max)

    /// Compares the row at `at` with a contiguous key and a number.
    @inline(__always)
    func order(_ at: Int, to key: UnsafeRawBufferPointer, _ number: UInt64) -> Int {
        let order = withKey(at) { mine in
            let common = min(mine.head.count, key.count)
            let order = compareKeys(mine.head, UnsafeRawBufferPointer(rebasing: key[..<common]))
            return order != 0
                ? order
                : compareKeys(mine.tail, UnsafeRawBufferPointer(rebasing: key[common...]))
        }
        if order != 0 { return order }
        let mine = self.number(at)
        return mine == number ? 0 : mine < number ? -1 : 1
    }

    /// Returns whether the row at `at` has this key.
    @inline(__always)
    func hasKey(_ key: UnsafeRawBufferPointer, at: Int) -> Bool {
        withKey(at) { mine in
            let head = mine.head.count
            return key.count == head + mine.tail.count
                && compareKeys(mine.head, UnsafeRawBufferPointer(rebasing: key[..<head])) == 0
                && compareKeys(mine.tail, UnsafeRawBufferPointer(rebasing: key[head...])) == 0
        }
    }

    /// Compares the row at `at` with a key and a number.
    @inline(__always)
    func order(_ at: Int, to key: KeyParts, _ number: UInt64) -> Int {
        let order = withKey(at) { compareKeys($0, key) }
        if order != 0 { return order }
        let mine = self.number(at)
        return mine == number ? 0 : mine < number ? -1 : 1
    }

    /// Returns the first index whose row does not sort before the key and number.
    func lowerBound(_ key: UnsafeRawBufferPointer, _ number: UInt64) -> Int {
        let prefix = Int(prefix)
        return keys.withUnsafeBytes { keys in
            let common = min(prefix, key.count)
            let order = compareKeys(
                UnsafeRawBufferPointer(rebasing: keys[..<prefix]),
                UnsafeRawBufferPointer(rebasing: key[..<common]))
            if order != 0 { return order < 0 ? count : 0 }
            let rest = UnsafeRawBufferPointer(rebasing: key[common...])
            return entries.indices.partitioningIndex { at in
                let mine = UnsafeRawBufferPointer(rebasing: keys[suffix(at)])
                let order = compareKeys(mine, rest)
                return order == 0 ? self.number(at) >= number : order > 0
            }
        }
    }
}
