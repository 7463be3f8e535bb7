extension Array where Element == ManagedObject {
    /// Returns the objects that are instances of a class.
    ///
    /// Other objects occur only if the class of their entity was registered after they were
    /// created.
    func shown<Object: ManagedObject>(as type: Object.Type) -> [Object] {
        // If all are instances, the array can be reinterpreted: the layout of references is the
        // same, and elements are released by their own classes. A dynamic cast and a copy of each
        // element would take longer than reading a row.
        if allSatisfy({ $0 is Object }) { return unsafeBitCast(self, to: [Object].self) }
        return compactMap { $0 as? Object }
    }
}
