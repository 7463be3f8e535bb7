/// Returns the indexes of an array's numbers, sorted by number; equal numbers keep their order.
///
/// This is an LSD radix sort that skips the digits in which all numbers are equal. Cost: O(n) for
/// object numbers, which are assigned sequentially.
func ascendingOrder(of numbers: [UInt64]) -> [UInt32] {
    var order = [UInt32](0..<UInt32(numbers.count))
    guard let least = numbers.min(), let most = numbers.max() else { return [] }
    if zip(numbers, numbers.dropFirst()).allSatisfy({ $0 <= $1 }) { return order }
    var other = order
    for shift in stride(from: 0, to: 64 - (most - least).leadingZeroBitCount, by: digitBits) {
        distribute(order, into: &other) { (numbers[Int($0)] - least) >> UInt64(shift) }
        swap(&order, &other)
    }
    assert(
        !Invariants.walk(order.count)
            || zip(order, order.dropFirst()).allSatisfy {
                (numbers[Int($0)], $0) < (numbers[Int($1)], $1)
            },
        "The numbers ascend, and equal ones keep their order.")
    return order
}

private let digitBits = 11

/// Sorts indexes stably by the lowest digit of `value`.
private func distribute(
    _ order: [UInt32], into other: inout [UInt32], by value: (UInt32) -> UInt64
) {
    let mask: UInt64 = 1 << UInt64(digitBits) - 1
    var starts = [Int](repeating: 0, count: 1 << digitBits + 1)
    for place in order { starts[Int(value(place) & mask) + 1] += 1 }
    for digit in 1..<starts.count { starts[digit] += starts[digit - 1] }
    for place in order {
        let digit = Int(value(place) & mask)
        other[starts[digit]] = place
        starts[digit] += 1
    }
}
