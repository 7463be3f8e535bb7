extension ListPlacements {
    /// Returns a slice of the objects, without section names and reached objects.
    ///
    ///     var rest = ListPlacements(
    ///         sections: places.sections, reached: places.reached, hopCount: places.hopCount)
    ///     rest.append(places.slice(0..<1_000))     // true
    ///
    /// Cost: copies the bytes of the slice.
    package func slice(_ range: Range<Int>) -> ListPlacements {
        var part = ListPlacements(hopCount: hopCount)
        let keysStart = range.lowerBound == 0 ? 0 : keyEnds[range.lowerBound - 1]
        part.numbers = Array(numbers[range])
        if !keyEnds.isEmpty, let last = range.last {
            part.keyEnds = keyEnds[range].map { $0 - keysStart }
            part.keys = Array(keys[Int(keysStart)..<Int(keyEnds[last])])
        }
        part.tagRuns = tagRuns.slice(range)
        part.sectionRuns = sectionRuns.slice(range)
        part.linkRuns = linkRuns.map { $0.slice(range) }
        return part
    }

    /// Returns whether a slice has the same number of hops, and refers only to section names and
    /// reached objects of this list.
    ///
    /// Cost: O(runs).
    package func accepts(_ part: ListPlacements) -> Bool {
        part.hopCount == hopCount && part.sectionRuns.allSatisfy { Int($0.value) < sections.count }
            && part.linkRuns.allSatisfy { $0.allSatisfy { Int($0.value) <= reached.count } }
    }

    /// Appends the objects of a slice.
    ///
    /// Returns false, and appends nothing, unless this list ``accepts(_:)`` the slice, or if the
    /// keys would exceed 4 GiB.
    package mutating func append(_ part: ListPlacements) -> Bool {
        let (start, keysStart) = (count, keys.count)
        guard accepts(part), keysStart + part.keys.count <= Int(UInt32.max) else { return false }
        if part.count == 0 { return true }
        numbers.append(contentsOf: part.numbers)
        keys.append(contentsOf: part.keys)
        keyEnds.append(addingCapacity: part.keyEnds.count) { span in
            for end in part.keyEnds { span.append(UInt32(keysStart) + end) }
        }
        tagRuns.append(part.tagRuns, after: start)
        sectionRuns.append(part.sectionRuns, after: start)
        for hop in linkRuns.indices { linkRuns[hop].append(part.linkRuns[hop], after: start) }
        return true
    }
}

extension [ListPlacements.Run] {
    /// Returns the runs of a range of objects, with ends relative to the start of the range.
    fileprivate func slice(_ range: Range<Int>) -> [ListPlacements.Run] {
        guard !range.isEmpty, !isEmpty else { return [] }
        var part: [ListPlacements.Run] = []
        for run in self[index(of: range.lowerBound)...] {
            let end = Swift.min(run.end, range.upperBound)
            part.append(ListPlacements.Run(end: end - range.lowerBound, value: run.value))
            if end == range.upperBound { break }
        }
        return part
    }

    /// Appends runs, whose ends are increased by `start`.
    fileprivate mutating func append(_ runs: [ListPlacements.Run], after start: Int) {
        for run in runs { add(run.value, end: start + run.end) }
    }
}
