import TandemIO
import TandemModel

/// The index of each number in an array of distinct numbers.
struct NumberIndexMap {
    private var first: ObjectNumber = 0
    /// The indexes plus one, by the difference from the smallest number; empty if that would take
    /// many times more elements than there are numbers.
    private var dense: [UInt32] = []
    private var sparse: [ObjectNumber: Int] = [:]

    /// Creates the map of an array; nil if a number occurs twice.
    init?(_ numbers: [ObjectNumber]) {
        guard let first = numbers.min(), let last = numbers.max() else { return }
        guard last - first < 8 * UInt64(numbers.count), numbers.count < UInt32.max else {
            sparse.reserveCapacity(numbers.count)
            for (place, number) in numbers.enumerated() {
                guard sparse.updateValue(place, forKey: number) == nil else { return nil }
            }
            return
        }
        self.first = first
        dense = [UInt32](repeating: 0, count: Int(last - first) + 1)
        let areOnce = dense.withUnsafeMutableBufferPointer { dense in
            for (place, number) in numbers.enumerated() {
                guard dense[Int(number - first)] == 0 else { return false }
                dense[Int(number - first)] = UInt32(place) + 1
            }
            return true
        }
        guard areOnce else { return nil }
        assert(
            !Invariants.walk(numbers.count)
                || numbers.enumerated().allSatisfy { self[$1] == $0 },
            "Each number is mapped to its index.")
    }

    /// The index of a number; nil if it does not occur.
    subscript(number: ObjectNumber) -> Int? {
        guard !dense.isEmpty else { return sparse[number] }
        guard number >= first, number - first < UInt64(dense.count) else { return nil }
        let place = Int(dense[Int(number - first)])
        return place == 0 ? nil : place - 1
    }
}
