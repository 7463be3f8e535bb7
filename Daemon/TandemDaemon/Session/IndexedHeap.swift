/// An indexed min-heap of the numbers that sessions wait for.
///
/// The heap knows each element's index, so insertion, removal and change take logarithmic time.
struct IndexedHeap {
    private var heap: [(number: UInt64, id: UInt64)] = []
    private var indexes: [UInt64: Int] = [:]

    /// The number of waiting sessions.
    var count: Int { heap.count }

    /// The session with the lowest number.
    var first: (number: UInt64, id: UInt64)? { heap.first }

    /// Sets the number that a session waits for; nil removes the session.
    mutating func set(_ id: UInt64, _ number: UInt64?) {
        guard let index = indexes[id] else {
            guard let number else { return }
            heap.append((number, id))
            indexes[id] = heap.count - 1
            return rise(heap.count - 1)
        }
        guard let number else { return remove(at: index) }
        heap[index].number = number
        sift(index)
    }

    private mutating func remove(at index: Int) {
        swap(index, heap.count - 1)
        indexes[heap.removeLast().id] = nil
        if index < heap.count { sift(index) }
    }

    private mutating func sift(_ index: Int) {
        rise(index)
        sink(index)
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0, heap[index].number < heap[(index - 1) / 2].number {
            swap(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            let children = (2 * index + 1)..<min(2 * index + 3, max(2 * index + 1, heap.count))
            guard let least = children.min(by: { heap[$0].number < heap[$1].number }),
                heap[least].number < heap[index].number
            else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        guard one != other else { return }
        heap.swapAt(one, other)
        assert(indexes.count == heap.count, "The heap knows the index of each element.")
        indexes[heap[one].id] = one
        indexes[heap[other].id] = other
    }
}
