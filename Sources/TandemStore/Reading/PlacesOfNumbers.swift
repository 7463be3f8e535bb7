import TandemModel

/// Where numbers stand in an array, of which each is there once.
struct PlacesOfNumbers {
    private var first: ObjectNumber = 0
    /// By how far a number is behind the first, its place, from 1 on; empty where that would be many times the numbers.
    private var dense: [UInt32] = []
    private var sparse: [ObjectNumber: Int] = [:]

    /// Finds the places of numbers; nil where one is there twice.
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
    }

    /// The place of a number; nil if it is not there.
    subscript(number: ObjectNumber) -> Int? {
        guard !dense.isEmpty else { return sparse[number] }
        guard number >= first, number - first < UInt64(dense.count) else { return nil }
        let place = Int(dense[Int(number - first)])
        return place == 0 ? nil : place - 1
    }
}
