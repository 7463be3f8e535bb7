/// What gives the answer to a fetch by another way than judging candidates one by one, as long as nothing of it is altered meanwhile.
protocol FetchWalk: AnyObject {
    /// Whether all that leads to the answer was read.
    var isScanned: Bool { get }
    /// How many objects were found.
    var count: Int { get }
    /// About the bytes that it holds, with the answer.
    var bytes: Int { get }
    /// How many rows and keys were read.
    var rowsRead: Int { get }
    var keysRead: Int { get }
    /// Whether the answer, when it is made, is of the kind that is wanted.
    var isFit: Bool { get }

    /// Goes on until `budget` is used up; true when the answer is made.
    func step(_ budget: inout Int) throws(StoreError) -> Bool

    /// Puts the answer into a result; after ``step(_:)`` returned true.
    func fill(_ result: inout FetchResult)
}
