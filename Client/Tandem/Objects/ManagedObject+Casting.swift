extension Array where Element == ManagedObject {
    /// Those that are of a class: all, unless the class of their entity came after some were made.
    func shown<Object: ManagedObject>(as type: Object.Type) -> [Object] {
        // Where all are, the array is one of that class already: references lie alike in both, and elements are let go of by their own classes.
        // To look at each and to copy it, without knowing the class before the program runs, takes longer than to read a row.
        if allSatisfy({ $0 is Object }) { return unsafeBitCast(self, to: [Object].self) }
        return compactMap { $0 as? Object }
    }
}
