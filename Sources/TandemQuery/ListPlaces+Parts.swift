extension ListPlaces {
    /// Some of its objects by themselves: without names of sections and what is reached, which stay with the whole.
    ///
    ///     var rest = ListPlaces(sections: places.sections, reached: places.reached, hops: places.hops)
    ///     rest.append(places.part(0..<1_000))     // true
    ///
    /// Cost: the bytes of the part, which are copied.
    public func part(_ range: Range<Int>) -> ListPlaces {
        var part = ListPlaces(hops: hops)
        let keysStart = range.lowerBound == 0 ? 0 : keyEnds[range.lowerBound - 1]
        part.numbers = Array(numbers[range])
        if !keyEnds.isEmpty, let last = range.last {
            part.keyEnds = keyEnds[range].map { $0 - keysStart }
            part.keys = Array(keys[Int(keysStart)..<Int(keyEnds[last])])
        }
        part.tagRuns = tagRuns.part(range)
        part.sectionRuns = sectionRuns.part(range)
        part.linkRuns = linkRuns.map { $0.part(range) }
        return part
    }

    /// Whether a part has as many hops as this list, and names no section and reaches nothing but what this has; O(runs).
    public func accepts(_ part: ListPlaces) -> Bool {
        part.hops == hops && part.sectionRuns.allSatisfy { Int($0.value) < sections.count }
            && part.linkRuns.allSatisfy { $0.allSatisfy { Int($0.value) <= reached.count } }
    }

    /// Adds the objects of a part behind the others; false, and nothing is added, if it names what this list does not have, or the keys
    /// of all together would have 4 GiB.
    public mutating func append(_ part: ListPlaces) -> Bool {
        let (start, keysStart) = (count, keys.count)
        guard accepts(part), keysStart + part.keys.count <= Int(UInt32.max) else { return false }
        if part.count == 0 { return true }
        numbers.append(contentsOf: part.numbers)
        keys.append(contentsOf: part.keys)
        keyEnds.append(addingCapacity: part.keyEnds.count) { span in
            for end in part.keyEnds { span.append(UInt32(keysStart) + end) }
        }
        tagRuns.append(part.tagRuns, behind: start)
        sectionRuns.append(part.sectionRuns, behind: start)
        for hop in linkRuns.indices { linkRuns[hop].append(part.linkRuns[hop], behind: start) }
        return true
    }
}

extension [ListPlaces.Run] {
    /// The runs of some of the objects, which begin with the first of them.
    fileprivate func part(_ range: Range<Int>) -> [ListPlaces.Run] {
        guard !range.isEmpty, !isEmpty else { return [] }
        var part: [ListPlaces.Run] = []
        for run in self[index(of: range.lowerBound)...] {
            let end = Swift.min(run.end, range.upperBound)
            part.append(ListPlaces.Run(end: end - range.lowerBound, value: run.value))
            if end == range.upperBound { break }
        }
        return part
    }

    /// Adds the runs of objects that come behind so many others.
    fileprivate mutating func append(_ runs: [ListPlaces.Run], behind start: Int) {
        for run in runs { add(run.value, end: start + run.end) }
    }
}
