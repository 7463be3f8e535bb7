/// A short array of numbers, which takes four bytes per number as long as their upper halves are
/// equal.
///
/// Object numbers are assigned sequentially, so the numbers in an array nearly always have the same
/// upper half; otherwise they are stored in eight bytes each. Reading a number costs O(1). Finding
/// a number is a linear search, eight numbers at a time.
struct PackedNumbers: Sendable {
    private var high: UInt32 = 0
    private var low: [UInt32] = []
    /// All numbers, instead of `low`, if their upper halves differ.
    private var whole: [UInt64] = []

    /// Creates an empty array.
    init() {}

    /// Creates an array of numbers, without spare capacity.
    init(_ numbers: some Collection<UInt64>) {
        high = UInt32(truncatingIfNeeded: (numbers.first ?? 0) >> 32)
        if numbers.allSatisfy({ $0 >> 32 == UInt64(high) }) {
            low = numbers.map { UInt32(truncatingIfNeeded: $0) }
        } else {
            whole = Array(numbers)
        }
    }

    var count: Int { low.isEmpty ? whole.count : low.count }

    var isEmpty: Bool { low.isEmpty && whole.isEmpty }

    subscript(at: Int) -> UInt64 {
        @inline(__always) get {
            whole.isEmpty ? UInt64(high) << 32 | UInt64(low[at]) : whole[at]
        }
    }

    /// Returns the index of a number.
    func firstIndex(of number: UInt64) -> Int? {
        if !whole.isEmpty { return whole.firstIndex(of: number) }
        guard number >> 32 == UInt64(high) else { return nil }
        let wanted = UInt32(truncatingIfNeeded: number)
        return low.withUnsafeBytes { bytes in
            let count = bytes.count / 4
            let eight = SIMD8(repeating: wanted)
            var at = 0
            while at &+ 8 <= count {
                let found = bytes.loadUnaligned(fromByteOffset: at * 4, as: SIMD8<UInt32>.self)
                if any(found .== eight) { break }
                at &+= 8
            }
            while at < count {
                if bytes.loadUnaligned(fromByteOffset: at * 4, as: UInt32.self) == wanted {
                    return at
                }
                at &+= 1
            }
            return nil
        }
    }

    mutating func insert(_ number: UInt64, at: Int) {
        if isEmpty { high = UInt32(truncatingIfNeeded: number >> 32) }
        if whole.isEmpty, number >> 32 == UInt64(high) {
            low.insert(UInt32(truncatingIfNeeded: number), at: at)
        } else {
            unpack()
            whole.insert(number, at: at)
        }
        assert(low.isEmpty || whole.isEmpty, "All numbers are stored in the same form.")
        assert(self[at] == number, "The number at the index is the inserted one.")
    }

    mutating func remove(at: Int) {
        if whole.isEmpty { low.remove(at: at) } else { whole.remove(at: at) }
    }

    /// Appends the numbers of another array.
    mutating func append(_ other: PackedNumbers) {
        self = PackedNumbers((0..<count).map { self[$0] } + (0..<other.count).map { other[$0] })
    }

    /// Removes the numbers at and after an index, and returns them as a new array.
    mutating func split(at: Int) -> PackedNumbers {
        let upper = PackedNumbers((at..<count).map { self[$0] })
        if whole.isEmpty { low.removeSubrange(at...) } else { whole.removeSubrange(at...) }
        return upper
    }

    private mutating func unpack() {
        if !whole.isEmpty { return }
        whole = low.map { UInt64(high) << 32 | UInt64($0) }
        low = []
    }
}
