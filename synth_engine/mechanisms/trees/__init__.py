"""What methods that grow trees share: plans of trees by any rule, counts that agree, columns beside or within
a tree."""
