/// Puts elements in order, some at a time: sorted runs that become one (``RunMerge``).
package struct StepSort<Element> {
    private let precedes: (Element, Element) -> Bool
    private var rest: [Element]
    /// How many of `rest` are in runs.
    private var next = 0
    private var runs: RunMerge<Element>

    /// So many elements are sorted for one of a budget.
    private static var elementsForOne: Int { 4 }

    /// Elements in no order yet, and the total order that they are put in.
    package init(_ elements: [Element], by precedes: @escaping (Element, Element) -> Bool) {
        self.precedes = precedes
        rest = elements
        runs = RunMerge(by: precedes)
    }

    /// The bytes of the elements, without what they refer to.
    package var bytes: Int { rest.count * MemoryLayout<Element>.stride + runs.bytes }

    /// The elements in order; when ``step(_:)`` returned true.
    package var whole: [Element] { runs.whole }

    /// Goes on until they are in order or the budget is used up; true for the former.
    package mutating func step(_ budget: inout Int) -> Bool {
        guard budget > 0 || rest.isEmpty else { return false }
        if next < rest.count {
            let left = rest.count - next
            // A budget may be as large as there are numbers.
            let count = min(left, min(budget, left) * Self.elementsForOne)
            runs.add(rest[next..<next + count].sorted(by: precedes))
            next += count
            budget -= (count + Self.elementsForOne - 1) / Self.elementsForOne
            guard next == rest.count else { return false }
            rest = []
            next = 0
        }
        return runs.step(&budget)
    }
}
