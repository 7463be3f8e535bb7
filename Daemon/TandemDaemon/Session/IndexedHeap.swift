/// An indexed min-heap of the numbers that sessions wait for.
///
/// The heap knows each element's index, so insertion, removal and change take logarithmic time.
struct IndexedHeap {
    private var heap: [(number: UInt64, id: UInt64)] = []
    private var places: [UInt64: Int] = [:]

    /// The number of waiting sessions.
    var count: Int { heap.count }

    /// The session with the lowest number.
    var first: (number: UInt64, id: UInt64)? { heap.first }

    /// Sets the number that a session waits for; nil removes the session.
    mutating func set(_ id: UInt64, _ number: UInt64?) {
        guard let place = places[id] else {
            guard let number else { return }
            heap.append((number, id))
            places[id] = heap.count - 1
            return rise(heap.count - 1)
        }
        guard let number else { return remove(at: place) }
        heap[place].number = number
        sift(place)
    }

    private mutating func remove(at place: Int) {
        swap(place, heap.count - 1)
        places[heap.removeLast().id] = nil
        if place < heap.count { sift(place) }
    }

    private mutating func sift(_ place: Int) {
        rise(place)
        sink(place)
    }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0, heap[place].number < heap[(place - 1) / 2].number {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            let children = (2 * place + 1)..<min(2 * place + 3, max(2 * place + 1, heap.count))
            guard let least = children.min(by: { heap[$0].number < heap[$1].number }),
                heap[least].number < heap[place].number
            else { return }
            swap(place, least)
            place = least
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        guard one != other else { return }
        heap.swapAt(one, other)
        assert(places.count == heap.count, "The heap knows the index of each element.")
        places[heap[one].id] = one
        places[heap[other].id] = other
    }
}
